// Names for what is on the chain: programs, instructions and accounts of the marketplace by its generated client.

import { AccountRole, type Address, type ReadonlyUint8Array, getU64Decoder } from '@solana/kit';

import type { PlainInstruction } from '../../chain/history';
import { hexOf } from '../../chain/accounts';
import { uuidText } from '../../chain/record';
import { ASSOCIATED_TOKEN_PROGRAM, TOKEN_PROGRAM } from '../../chain/token';
import { ED25519_PROGRAM_ADDRESS } from '../../chain/proof';
import * as accounts from '../../generated/accounts';
import {
    AGENT_MARKETPLACE_PROGRAM_ADDRESS as PROGRAM,
    AgentMarketplaceAccount,
    AgentMarketplaceInstruction,
    identifyAgentMarketplaceAccount,
    parseAgentMarketplaceInstruction,
} from '../../generated/programs';

const PROGRAMS = new Map<string, string>([
    [PROGRAM, 'Marketplace'],
    [TOKEN_PROGRAM, 'Token'],
    [ASSOCIATED_TOKEN_PROGRAM, 'Associated token'],
    [ED25519_PROGRAM_ADDRESS, 'Ed25519 signature'],
    ['11111111111111111111111111111111', 'System'],
    ['ComputeBudget111111111111111111111111111111', 'Compute budget'],
    ['BPFLoaderUpgradeab1e11111111111111111111111', 'Upgradeable loader'],
    ['NativeLoader1111111111111111111111111111111', 'Native loader'],
]);

export const programName = (address: string): string | null => PROGRAMS.get(address) ?? null;

/** `openExecution` as `Open execution`. */
export const inWords = (name: string): string => {
    const text = name.replace(
        /([a-z\d])([A-Z])/g,
        (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
    );
    return text.charAt(0).toUpperCase() + text.slice(1);
};

export type Named = {
    readonly name: string;
    readonly value: string;
    /** Is an address. */ readonly isAddress: boolean;
};
export type ReadInstruction = {
    readonly name: string | null;
    readonly arguments: readonly Named[];
    readonly accounts: readonly Named[];
};

/** First bytes of the data with which the program calls itself to emit an event. */
const EVENT = 'e445a52e51cb9a1d';
const TOKEN_INSTRUCTIONS = new Map([
    [3, 'Transfer'],
    [4, 'Approve'],
    [5, 'Revoke'],
    [7, 'Mint'],
    [9, 'Close account'],
    [12, 'Transfer checked'],
    [13, 'Approve checked'],
    [18, 'Initialize account'],
]);

/** What the client knows of an instruction. Nothing of it throws: anybody can send any bytes. */
export function readInstruction({ programId, accounts: keys, data }: PlainInstruction): ReadInstruction {
    const unnamed = keys.map((value, index) => ({ name: `${index + 1}`, value, isAddress: true }));
    if (programId === TOKEN_PROGRAM) {
        const amount = [3, 7, 12].includes(data[0] ?? 0) && data.length >= 9 ? getU64Decoder().decode(data, 1) : null;
        const args = amount === null ? [] : [{ name: 'Amount', value: String(amount), isAddress: false }];
        return { name: TOKEN_INSTRUCTIONS.get(data[0] ?? -1) ?? null, arguments: args, accounts: unnamed };
    }
    if (programId !== PROGRAM) return { name: null, arguments: [], accounts: unnamed };
    if (hexOf(data.slice(0, 8)) === EVENT) return { name: 'Event', arguments: [], accounts: unnamed };
    try {
        const metas = keys.map((address) => ({ address, role: AccountRole.READONLY }));
        const read = parseAgentMarketplaceInstruction({ programAddress: PROGRAM, accounts: metas, data });
        const named = Object.entries(read.accounts as Record<string, { address: Address } | undefined>);
        return {
            name: inWords(AgentMarketplaceInstruction[read.instructionType]),
            arguments: 'data' in read ? membersOf(read.data) : [],
            accounts: named.flatMap(([name, meta]) =>
                meta === undefined ? [] : [{ name: inWords(name), value: meta.address, isAddress: true }],
            ),
        };
    } catch {
        return { name: null, arguments: [], accounts: unnamed };
    }
}

export type ReadAccount = { readonly name: string; readonly fields: readonly Named[] };

const DECODERS: Record<AgentMarketplaceAccount, { decode: (bytes: ReadonlyUint8Array) => object }> = {
    [AgentMarketplaceAccount.AgentListed]: accounts.getAgentListedDecoder(),
    [AgentMarketplaceAccount.Config]: accounts.getConfigDecoder(),
    [AgentMarketplaceAccount.CreatorProfile]: accounts.getCreatorProfileDecoder(),
    [AgentMarketplaceAccount.Dispute]: accounts.getDisputeDecoder(),
    [AgentMarketplaceAccount.ExecutionRecord]: accounts.getExecutionRecordDecoder(),
    [AgentMarketplaceAccount.SpendingGrant]: accounts.getSpendingGrantDecoder(),
};

/** An account of the marketplace; `null`: of another program, or not known. */
export function readAccount(owner: string, data: ReadonlyUint8Array): ReadAccount | null {
    if (owner !== PROGRAM) return null;
    try {
        const kind = identifyAgentMarketplaceAccount(data);
        return { name: inWords(AgentMarketplaceAccount[kind]), fields: membersOf(DECODERS[kind].decode(data)) };
    } catch {
        return null;
    }
}

const MOST_MEMBERS = 100;
const HIDDEN = new Set(['discriminator', 'reserved', 'bump', 'version']);

function membersOf(value: object, before = ''): Named[] {
    const members = Object.entries(value).filter(([name]) => !HIDDEN.has(name));
    return members.flatMap(([name, member]) => valueOf(before + inWords(name), name, member)).slice(0, MOST_MEMBERS);
}

function valueOf(label: string, name: string, value: unknown): Named[] {
    const text = (value: string, isAddress = false) => [{ name: label, value, isAddress }];
    if (value instanceof Uint8Array) return text(name === 'executionId' ? uuidText(value) : hexOf(value));
    if (typeof value === 'string') return text(value, /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value));
    if (typeof value !== 'object' || value === null) return text(String(value));
    if ('__option' in value) {
        return 'value' in value ? valueOf(label, name, value.value) : text('none');
    }
    return membersOf(value, `${label}: `);
}
