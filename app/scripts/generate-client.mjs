// Generates the program's TypeScript client from its IDL: `node scripts/generate-client.mjs [FOLDER]`.
// What the IDL cannot say is added here: names and documentation of the addresses. Their seeds, and which accounts of
// an instruction follow from the others, are in the IDL.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { rootNodeFromAnchor } from '@codama/nodes-from-anchor';
import { renderVisitor } from '@codama/renderers-js';
import {
    accountValueNode,
    addPdasVisitor,
    argumentValueNode,
    bytesTypeNode,
    constantPdaSeedNodeFromString,
    createFromRoot,
    definedTypeNode,
    fixedSizeTypeNode,
    flattenInstructionDataArgumentsVisitor,
    numberTypeNode,
    pdaLinkNode,
    pdaSeedValueNode,
    pdaValueNode,
    publicKeyTypeNode,
    publicKeyValueNode,
    setInstructionAccountDefaultValuesVisitor,
    unwrapDefinedTypesVisitor,
    unwrapInstructionArgsDefinedTypesVisitor,
    updateAccountsVisitor,
    variablePdaSeedNode,
    visit,
} from 'codama';

const app = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const idlPath = path.join(app, '../idl/agent_marketplace.json');
const folder = process.argv[2] ?? path.join(app, 'src/generated');

const text = (seed) => constantPdaSeedNodeFromString('utf8', seed);
const key = (name, docs) => variablePdaSeedNode(name, publicKeyTypeNode(), docs);

/** Every address of the program. The IDL's seeds are compared with these. */
const pdas = [
    { name: 'config', seeds: [text('config')] },
    { name: 'creatorProfile', seeds: [text('creator'), key('wallet')] },
    {
        name: 'agentListed',
        seeds: [
            text('agent'),
            key('creator'),
            variablePdaSeedNode('index', numberTypeNode('u32'), "Tells the creator's agents apart."),
        ],
    },
    {
        name: 'escrow',
        docs: ['Token account with the USDC of all open executions of an agent.'],
        seeds: [text('escrow'), key('agent')],
    },
    {
        name: 'collateralVault',
        docs: ["Token account with an agent's locked collateral."],
        seeds: [text('collateral'), key('agent')],
    },
    {
        name: 'executionRecord',
        seeds: [
            text('execution'),
            key('caller', 'The wallet that pays.'),
            variablePdaSeedNode('executionId', fixedSizeTypeNode(bytesTypeNode(), 16), 'UUID of the execution.'),
        ],
    },
    { name: 'dispute', seeds: [text('dispute'), key('execution', 'The execution record.')] },
    { name: 'spendingGrant', seeds: [text('grant'), key('wallet'), key('sessionKey')] },
    {
        name: 'spender',
        docs: ['The SPL delegate that a wallet approves once for all of its keys.'],
        seeds: [text('spender'), key('wallet')],
    },
    {
        name: 'eventAuthority',
        docs: ['Signs the events that the program emits by calling itself.'],
        seeds: [text('__event_authority')],
    },
];

const accountsAtPdas = Object.fromEntries(
    ['config', 'creatorProfile', 'agentListed', 'executionRecord', 'dispute', 'spendingGrant'].map((name) => [
        name,
        { pda: pdaLinkNode(name) },
    ]),
);

/** The address that an account of an instruction has, by the account's name. */
const PDA_OF_ACCOUNT = {
    config: 'config',
    profile: 'creatorProfile',
    agent: 'agentListed',
    escrow: 'escrow',
    collateral_vault: 'collateralVault',
    record: 'executionRecord',
    dispute: 'dispute',
    grant: 'spendingGrant',
    spender: 'spender',
    event_authority: 'eventAuthority',
};

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/** The seeds of an account in the IDL as values for the seeds of its address. */
function seedValues(seeds, pda, where) {
    const constant = Buffer.from(seeds[0].value).toString('utf8');
    const variables = pda.seeds.slice(1);
    if (pda.seeds[0].value.string !== constant || variables.length !== seeds.length - 1) {
        throw new Error(`${where}: the IDL has other seeds than ${pda.name}`);
    }
    return seeds.slice(1).map((seed, index) => {
        const value =
            seed.kind === 'arg'
                ? argumentValueNode(camel(seed.path.split('.').at(-1)))
                : accountValueNode(camel(seed.path));
        return pdaSeedValueNode(variables[index].name, value);
    });
}

/** Takes the seeds out of the IDL; returns the accounts that follow from the others, which a caller may leave out. */
function takeAccountDefaults(idl) {
    const defaults = [{ account: 'program', defaultValue: publicKeyValueNode(idl.address) }];
    for (const instruction of idl.instructions) {
        for (const account of instruction.accounts) {
            const seeds = account.pda?.seeds;
            delete account.pda;
            // A seed that is a field of an account would have to be read from the chain.
            if (seeds === undefined || account.optional || seeds.some((seed) => seed.account !== undefined)) continue;
            const where = `${instruction.name}.${account.name}`;
            const pda = pdas.find(({ name }) => name === PDA_OF_ACCOUNT[account.name]);
            if (pda === undefined) throw new Error(`${where}: an address without a name`);
            defaults.push({
                account: camel(account.name),
                instruction: camel(instruction.name),
                defaultValue: pdaValueNode(pdaLinkNode(pda.name), seedValues(seeds, pda, where)),
            });
        }
    }
    return defaults;
}

/** Generated files keep the renderer's own format: it would take that of the sources. */
const PRETTIER = { printWidth: 80, tabWidth: 2, singleQuote: false };

/** Lists that the tree leaves out when they are empty and that this version of the renderer counts on. */
const LISTS = {
    rootNode: ['additionalPrograms'],
    programNode: ['accounts', 'instructions', 'definedTypes', 'pdas', 'errors', 'docs'],
    accountNode: ['discriminators', 'docs'],
    instructionNode: ['accounts', 'arguments', 'docs'],
    instructionAccountNode: ['docs'],
    instructionArgumentNode: ['docs'],
    definedTypeNode: ['docs'],
    structTypeNode: ['fields'],
    structFieldTypeNode: ['docs'],
    enumTypeNode: ['variants'],
    tupleTypeNode: ['items'],
    pdaNode: ['seeds', 'docs'],
    pdaValueNode: ['seeds'],
    variablePdaSeedNode: ['docs'],
    errorNode: ['docs'],
};

/** The tree as the renderer reads it: empty lists written out, events as plain types. */
function forRenderer(node) {
    if (Array.isArray(node)) return node.map(forRenderer);
    if (node === null || typeof node !== 'object') return node;
    const copy = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, forRenderer(value)]));
    for (const list of LISTS[copy.kind] ?? []) copy[list] ??= [];
    if (copy.kind !== 'programNode') return copy;
    const { events = [], ...program } = copy;
    const asType = (event) =>
        forRenderer(definedTypeNode({ name: event.name, docs: event.docs, type: event.data.type }));
    return { ...program, definedTypes: [...program.definedTypes, ...events.map(asType)] };
}

const idl = JSON.parse(readFileSync(idlPath, 'utf8'));
const accountDefaults = takeAccountDefaults(idl);
const codama = createFromRoot(rootNodeFromAnchor(idl));
codama.update(unwrapDefinedTypesVisitor(['openExecutionArgs']));
codama.update(unwrapInstructionArgsDefinedTypesVisitor());
codama.update(flattenInstructionDataArgumentsVisitor());
codama.update(addPdasVisitor({ agentMarketplace: pdas }));
codama.update(updateAccountsVisitor(accountsAtPdas));
codama.update(setInstructionAccountDefaultValuesVisitor(accountDefaults));
await visit(
    forRenderer(codama.getRoot()),
    renderVisitor(folder, {
        generatedFolder: '.',
        kitImportStrategy: 'rootOnly',
        syncPackageJson: false,
        prettierOptions: PRETTIER,
    }),
);

/** The renderer writes out the plugin's result by hand, in a form that this version of kit has left; it can be inferred. */
function inferPluginType() {
    const file = path.join(folder, 'programs/agentMarketplace.ts');
    const written = /(<T extends AgentMarketplacePluginRequirements>\(\s*client: T,\s*\)): Omit<[^{]*\{[^}]*\} =>/;
    const text = readFileSync(file, 'utf8');
    if (!written.test(text)) throw new Error('the program plugin is not written as it used to be');
    writeFileSync(file, text.replace(written, '$1 =>'));
}
inferPluginType();
