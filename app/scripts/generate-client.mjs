// Generates the program's TypeScript client from its IDL: `node scripts/generate-client.mjs [FOLDER]`.
// What the IDL cannot say is added here: the seeds of every address (they stand in crates/protocol/src/seeds.rs),
// and which accounts of an instruction follow from the others.

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

/** Every address of the program, in the order of design section 3. */
const pdas = [
    { name: 'config', seeds: [text('config')] },
    { name: 'creatorProfile', seeds: [text('creator'), key('wallet')] },
    {
        name: 'agentListing',
        seeds: [text('agent'), key('creator'), variablePdaSeedNode('index', numberTypeNode('u32'), "Tells the creator's agents apart.")],
    },
    { name: 'escrow', docs: ['Token account with the USDC of all open executions of an agent.'], seeds: [text('escrow'), key('agent')] },
    { name: 'collateralVault', docs: ["Token account with an agent's locked collateral."], seeds: [text('collateral'), key('agent')] },
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
    { name: 'spender', docs: ['The SPL delegate that a wallet approves once for all of its keys.'], seeds: [text('spender'), key('wallet')] },
    { name: 'eventAuthority', docs: ['Signs the events that the program emits by calling itself.'], seeds: [text('__event_authority')] },
];

const accountsAtPdas = Object.fromEntries(
    ['config', 'creatorProfile', 'agentListing', 'executionRecord', 'dispute', 'spendingGrant'].map((name) => [
        name,
        { pda: pdaLinkNode(name) },
    ]),
);

const seed = (name, from) => pdaSeedValueNode(name, from);
const derived = (account, instruction, pda, ...seeds) => ({
    account,
    instruction,
    defaultValue: pdaValueNode(pdaLinkNode(pda), seeds),
});

/** Accounts that follow from the others of the same instruction, so that a caller may leave them out. */
function accountDefaults(programId) {
    const executionAccounts = ['openExecution', 'openExecutionWithGrant', 'completeExecution', 'failExecution', 'refundExpiredExecution'];
    const collateralAccounts = ['listAgent', 'depositCollateral', 'withdrawCollateral', 'closeAgent', 'resolveDispute'];
    const escrowAccounts = [...executionAccounts, 'listAgent', 'closeAgent'];
    const executionId = seed('executionId', argumentValueNode('executionId'));
    return [
        { account: 'config', defaultValue: pdaValueNode(pdaLinkNode('config')) },
        { account: 'eventAuthority', defaultValue: pdaValueNode(pdaLinkNode('eventAuthority')) },
        { account: 'program', defaultValue: publicKeyValueNode(programId) },
        derived('agent', 'listAgent', 'agentListing', seed('creator', accountValueNode('creator')), seed('index', argumentValueNode('index'))),
        derived('profile', 'upsertCreatorProfile', 'creatorProfile', seed('wallet', accountValueNode('wallet'))),
        derived('record', 'openExecution', 'executionRecord', seed('caller', accountValueNode('caller')), executionId),
        derived('record', 'openExecutionWithGrant', 'executionRecord', seed('caller', accountValueNode('wallet')), executionId),
        derived('grant', 'openExecutionWithGrant', 'spendingGrant', seed('wallet', accountValueNode('wallet')), seed('sessionKey', accountValueNode('sessionKey'))),
        derived('grant', 'grantSpending', 'spendingGrant', seed('wallet', accountValueNode('wallet')), seed('sessionKey', argumentValueNode('sessionKey'))),
        ...['openExecutionWithGrant', 'grantSpending'].map((name) => derived('spender', name, 'spender', seed('wallet', accountValueNode('wallet')))),
        ...['openDispute', 'resolveDispute', 'closeExecution'].map((name) => derived('dispute', name, 'dispute', seed('execution', accountValueNode('record')))),
        ...escrowAccounts.map((name) => derived('escrow', name, 'escrow', seed('agent', accountValueNode('agent')))),
        ...collateralAccounts.map((name) => derived('collateralVault', name, 'collateralVault', seed('agent', accountValueNode('agent')))),
    ];
}

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
    const asType = (event) => forRenderer(definedTypeNode({ name: event.name, docs: event.docs, type: event.data.type }));
    return { ...program, definedTypes: [...program.definedTypes, ...events.map(asType)] };
}

const idl = JSON.parse(readFileSync(idlPath, 'utf8'));
const codama = createFromRoot(rootNodeFromAnchor(idl));
codama.update(unwrapDefinedTypesVisitor(['openExecutionArgs']));
codama.update(unwrapInstructionArgsDefinedTypesVisitor());
codama.update(flattenInstructionDataArgumentsVisitor());
codama.update(addPdasVisitor({ agentMarketplace: pdas }));
codama.update(updateAccountsVisitor(accountsAtPdas));
codama.update(setInstructionAccountDefaultValuesVisitor(accountDefaults(idl.address)));
await visit(
    forRenderer(codama.getRoot()),
    renderVisitor(folder, { generatedFolder: '.', kitImportStrategy: 'rootOnly', syncPackageJson: false }),
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
