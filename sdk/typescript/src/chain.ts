// The checks of a result against the chain, over the JSON-RPC of any Solana node. They are those of `crtx verify` for an
// execution with a result, as long as its record is open on chain; the record is closed after its dispute window.

import { type Bytes, addressBytes, base58, fromBase58, fromBase64, hex, same, utf8, uuidText } from './bytes.js';
import { verifyStrictly } from './ed25519.js';
import type { Fetch } from './http.js';
import { readText, sleep } from './http.js';
import { baseUnits, usdcText } from './money.js';
import {
    callMessage,
    cidOf,
    derivedAddress,
    executionIdOf,
    hashText,
    recordAddress,
    resultHash,
    resultMessage,
    splitOf,
    termsHash,
} from './wire.js';

/** The program of the marketplace. */
export const PROGRAM_ID = '9d5194GTeZmmrAj3gXzNGxh86PNTCPK4cmDfTKhFViGK';

export type Check = { readonly name: string; readonly ok: boolean; readonly detail: string };

/** What the service says of an execution. Nothing in it is believed. */
export type Claims = {
    readonly execution_id: string;
    readonly status: string;
    readonly result: string | null;
    readonly result_hash: string | null;
    readonly cost_usdc: string;
    readonly creator_amount_usdc?: string;
    readonly platform_amount_usdc?: string;
    readonly execution_time_ms?: number | null;
    readonly tokens_used?: number | null;
    readonly on_chain_record: string;
    readonly ipfs_url: string | null;
};

/** What the caller knows without the service. */
export type Expected = {
    readonly agentId: string;
    /** The public key that has to have signed the opening: of the API key, or of the wallet. */
    readonly opener?: Bytes | undefined;
    /** The hash that the opening has to have. */
    readonly requestHash?: string | undefined;
    /** The key from which the execution id follows, with the wallet. */
    readonly idempotencyKey?: string | undefined;
};

export type Node = { readonly url: string; readonly fetch: Fetch; readonly programId: string };

/** The node does not show what a check needs, at least not yet. */
export class NodeError extends Error {}

/** An account is another one than it has to be, so the other checks have nothing to read. */
class WrongAccount extends Error {}

const DISCRIMINATORS = {
    record: [133, 201, 182, 206, 224, 111, 45, 168],
    agent: [6, 47, 86, 222, 253, 101, 162, 76],
    config: [155, 12, 170, 224, 30, 250, 204, 130],
    complete: [55, 101, 52, 4, 121, 233, 150, 50],
    open: [241, 247, 215, 5, 106, 100, 238, 42],
    openWithGrant: [161, 197, 23, 56, 188, 175, 19, 80],
} as const;
const ED25519_PROGRAM = 'Ed25519SigVerify111111111111111111111111111';
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const TRANSFER_CHECKED = 12;
const RECORD_BYTES = 208;
const MAX_FEE_BPS = 500;
/** Where the parts of the Ed25519 instruction begin. */
const [KEY_AT, SIGNATURE_AT, MESSAGE_AT] = [16, 48, 112] as const;
const STATUS_NAMES = ['', 'open', 'completed', 'failed', 'failed', 'disputed', 'failed'];
const OVERTURNED = 6;
/** Strangers can add transactions about a record: at most so many are read. */
const MOST_TRANSACTIONS = 50;
const MAX_RPC_BYTES = 32 * 1024 * 1024;
/** A node may be some slots behind the one that the service asked. */
const PATIENCE_MS = 15_000;

type Evidence = {
    readonly claims: Claims;
    readonly expected: Expected;
    readonly programId: string;
    readonly address: string;
    readonly record: DataView;
    readonly agent: DataView;
    readonly config: DataView;
    readonly opening: { readonly by: Instruction; readonly signers: readonly string[] };
    readonly settlement: { readonly transaction: Transaction; readonly at: number };
};

type Instruction = { readonly program: string; readonly accounts: readonly string[]; readonly data: Bytes };
type Inner = Instruction & { readonly by: number };
type Balance = { readonly account: string; readonly owner: string; readonly mint: string; readonly amount: bigint };
type Transaction = {
    readonly signers: readonly string[];
    readonly instructions: readonly Instruction[];
    readonly inner: readonly Inner[];
    readonly before: readonly Balance[];
    readonly after: readonly Balance[];
};

/** Checks the result against its own hash and address: what needs no node. */
export async function checkContent({ result, result_hash: stated, ipfs_url: url }: Claims): Promise<Check[]> {
    return run<null>(null, [
        ['result', async () => equal('the result', await resultHash(result ?? fail('none is stated')), stated ?? '')],
        ['address', async () => equal('the content address', url?.split('/').at(-1) ?? '', cidOf(stated ?? ''))],
    ]);
}

/** All checks. Throws `NodeError` where the node does not show the settled record in time. */
export async function checkExecution(
    claims: Claims,
    expected: Expected,
    node: Node,
    signal: AbortSignal,
): Promise<Check[]> {
    const content = await checkContent(claims);
    if (content.some(({ ok }) => !ok)) return content;
    const until = Date.now() + PATIENCE_MS;
    for (let pause = 100; ; pause *= 2) {
        try {
            const evidence = await collect(claims, expected, node, signal);
            return [...content, ...(await run(evidence, CHECKS))];
        } catch (error) {
            if (error instanceof WrongAccount)
                return [...content, { name: 'record', ok: false, detail: error.message }];
            if (!(error instanceof NodeError) || Date.now() + pause > until || signal.aborted) throw error;
            await sleep(pause, signal);
        }
    }
}

async function run<T>(evidence: T, checks: readonly (readonly [string, (evidence: T) => Finding])[]): Promise<Check[]> {
    const all = checks.map(async ([name, check]): Promise<Check> => {
        try {
            return { name, ok: true, detail: await check(evidence) };
        } catch (error) {
            return { name, ok: false, detail: error instanceof Error ? error.message : 'it cannot be read' };
        }
    });
    return Promise.all(all);
}

/** What was found, in words. A check that fails throws. */
type Finding = string | Promise<string>;

function fail(message: string): never {
    throw new Error(message);
}

function equal(what: string, found: string, due: string): string {
    if (found !== due) fail(`${what} is ${found}, not ${due}`);
    return `${what} is ${found}`;
}

// The accounts, as docs/specification.md has them.
const bytesAt = (account: DataView, at: number, length = 32): Bytes =>
    new Uint8Array(account.buffer as ArrayBuffer, account.byteOffset + at, length).slice();
const addressAt = (account: DataView, at: number): string => base58(bytesAt(account, at));
const record = {
    agent: (of: DataView) => addressAt(of, 8),
    caller: (of: DataView) => addressAt(of, 40),
    resultHash: (of: DataView) => hashText(bytesAt(of, 104)),
    executionId: (of: DataView) => uuidText(bytesAt(of, 136, 16)),
    amount: (of: DataView) => of.getBigUint64(160, true),
    openedAt: (of: DataView) => of.getBigInt64(168, true),
    timeMs: (of: DataView) => of.getUint32(184, true),
    tokens: (of: DataView) => (of.getUint8(203) === 1 ? of.getUint32(188, true) : null),
    feeBps: (of: DataView) => of.getUint16(196, true),
    binding: (of: DataView) => of.getUint8(199),
    status: (of: DataView) => of.getUint8(200),
};
const agent = {
    creator: (of: DataView) => addressAt(of, 8),
};
const usdcMint = (config: DataView): string => addressAt(config, 200);

/** What the record demands a signature over: the result alone, or the result of this call. */
function demanded({ record: of, address }: Evidence): Bytes {
    const [hash, binding] = [record.resultHash(of), record.binding(of)];
    if (binding > 1) fail(`the record has the unknown binding ${binding}`);
    return binding === 1
        ? callMessage({ record: address, openedAtUnixS: record.openedAt(of) }, hash)
        : resultMessage(hash);
}

/** The instruction directly before the settlement. */
function proofOf(evidence: Evidence): Bytes {
    const { transaction, at } = evidence.settlement;
    const { program, accounts, data } =
        transaction.instructions[at - 1] ?? fail('no instruction is before the settlement');
    if (program !== ED25519_PROGRAM || accounts.length > 0)
        fail('the instruction before the settlement is no plain proof');
    if (data.length !== MESSAGE_AT + demanded(evidence).length) fail('the proof has another length');
    return data;
}

const partsOf = ({ record: of }: Evidence) => splitOf(record.amount(of), record.feeBps(of));

const CHECKS: readonly (readonly [string, (evidence: Evidence) => Finding])[] = [
    ['record', ({ address, programId }) => `${address} belongs to the program ${programId}`],
    [
        'identity',
        async ({ record: of, address, programId, claims, expected }) => {
            equal('the execution of the record', record.executionId(of), claims.execution_id);
            equal('the agent of the record', record.agent(of), expected.agentId);
            const [caller, key] = [record.caller(of), expected.idempotencyKey];
            if (key !== undefined)
                equal('the execution of the key', await executionIdOf(caller, key), claims.execution_id);
            return equal('the record', await recordAddress(programId, caller, claims.execution_id), address);
        },
    ],
    [
        'request',
        ({ opening: { by, signers }, expected: { opener, requestHash } }) => {
            if (requestHash !== undefined) equal('the opened request', hashText(by.data.slice(24, 56)), requestHash);
            if (opener === undefined) return 'the opening is on chain';
            const signer = base58(opener);
            if (!signers.includes(signer)) fail(`the opening is not signed by your key (${signer})`);
            return `your key signed the opening (${signer})`;
        },
    ],
    [
        'status',
        ({ record: of, claims }) => equal('the status on chain', STATUS_NAMES[record.status(of)] ?? '', claims.status),
    ],
    [
        'commitment',
        ({ record: of, claims }) => equal('the hash on chain', record.resultHash(of), claims.result_hash ?? 'none'),
    ],
    [
        'gate',
        (evidence) => {
            const { length } = demanded(evidence);
            const header = [1, 0, 48, 0, 255, 255, 16, 0, 255, 255, 112, 0, length, 0, 255, 255];
            return equal(
                'the form of the proof',
                hex(proofOf(evidence).slice(0, KEY_AT)),
                hex(Uint8Array.from(header)),
            );
        },
    ],
    [
        'message',
        (evidence) => equal('the signed text', hex(proofOf(evidence).slice(MESSAGE_AT)), hex(demanded(evidence))),
    ],
    ['key', checkKey],
    [
        'signature',
        async (evidence) => {
            const proof = proofOf(evidence);
            const [key, signature] = [proof.slice(KEY_AT, SIGNATURE_AT), proof.slice(SIGNATURE_AT, MESSAGE_AT)];
            if (!(await verifyStrictly(key, demanded(evidence), signature))) fail('it does not verify');
            return 'it verifies by the strict rules';
        },
    ],
    [
        'split',
        (evidence) => {
            const feeBps = record.feeBps(evidence.record);
            if (feeBps > MAX_FEE_BPS) fail(`the program never takes a fee of ${feeBps} basis points`);
            const { creator, platform } = partsOf(evidence);
            return `${usdcText(creator)} and ${usdcText(platform)} USDC, a fee of ${feeBps} basis points`;
        },
    ],
    ['payment', checkPayment],
    ['amounts', checkAmounts],
];

/**
 * The opening names the terms that the caller agreed to by their hash, and the key is one of them. If the terms have changed
 * since, the program's own comparison at the settlement stands for the check.
 */
async function checkKey(evidence: Evidence): Promise<string> {
    const { record: of, agent: listing, config, opening } = evidence;
    const key = proofOf(evidence).slice(KEY_AT, SIGNATURE_AT);
    const listed = bytesAt(listing, 40);
    if (same(key, listed)) return `${base58(key)} signed, which the agent lists`;
    const agreed = opening.by.data[64] === 1 ? hashText(opening.by.data.slice(65, 97)) : null;
    const terms = {
        price: record.amount(of),
        timeoutSeconds: listing.getUint32(284, true),
        binding: record.binding(of),
        minCover: listing.getUint8(303),
        resultKey: listed,
        metadataHash: bytesAt(listing, 72),
        feeBps: record.feeBps(of),
        maxPenaltyMultiple: of.getUint8(198),
        disputeWindowS: BigInt(of.getUint32(192, true)),
        settleGraceS: config.getBigInt64(416, true),
    };
    if (agreed === (await termsHash(terms))) fail(`${base58(key)} signed, and the terms name ${base58(listed)}`);
    if (agreed === (await termsHash({ ...terms, resultKey: key })))
        return `${base58(key)} signed, which the terms name`;
    return `${base58(key)} signed; the agent's terms have changed since, and the program compared it`;
}

/** The settlement moved the escrow's money to the creator and the treasury, and nothing else. */
async function checkPayment(evidence: Evidence): Promise<string> {
    const { settlement, record: of, config, programId } = evidence;
    const { transaction, at } = settlement;
    const accounts = transaction.instructions[at]?.accounts ?? [];
    const [toCreator, toTreasury] = [accounts[6] ?? '', accounts[7] ?? ''];
    const escrow = await derivedAddress(programId, utf8('escrow'), addressBytes(record.agent(of)));
    const { creator, platform } = partsOf(evidence);
    const mint = usdcMint(config);
    const moved = movedBy(transaction, at, mint);
    const due = new Map([[escrow, -record.amount(of)]]);
    for (const [to, part] of [
        [toCreator, creator],
        [toTreasury, platform],
    ] as const)
        due.set(to, (due.get(to) ?? 0n) + part);
    for (const [account, change] of due)
        equal(`the change of ${account}`, String(moved.get(account) ?? 0n), String(change));
    const owner = [...transaction.after, ...transaction.before].find(({ account }) => account === toCreator)?.owner;
    if (owner !== undefined) equal('the owner of the paid account', owner, agent.creator(evidence.agent));
    return `${usdcText(record.amount(of))} USDC left the escrow`;
}

function movedBy({ inner, before, after }: Transaction, at: number, mint: string): Map<string, bigint> {
    const moved = new Map<string, bigint>();
    const add = (account: string, change: bigint) => moved.set(account, (moved.get(account) ?? 0n) + change);
    const called = inner.filter(({ by }) => by === at);
    for (const { program, accounts, data } of called) {
        const [from, of, to] = accounts;
        if (program !== TOKEN_PROGRAM || data[0] !== TRANSFER_CHECKED || of !== mint || !from || !to) continue;
        const amount = new DataView(data.buffer, data.byteOffset).getBigUint64(1, true);
        add(from, -amount);
        add(to, amount);
    }
    // A node that keeps no inner instructions shows what the whole transaction moved.
    if (called.length === 0) {
        for (const balance of before) if (balance.mint === mint) add(balance.account, -balance.amount);
        for (const balance of after) if (balance.mint === mint) add(balance.account, balance.amount);
    }
    return moved;
}

function checkAmounts(evidence: Evidence): string {
    const { claims, record: of } = evidence;
    const { creator, platform } = partsOf(evidence);
    const amounts = [
        ['creator_amount_usdc', claims.creator_amount_usdc, creator],
        ['platform_amount_usdc', claims.platform_amount_usdc, platform],
        // After an upheld dispute the cost is what was not given back, which stands in the dispute.
        ['cost_usdc', record.status(of) === OVERTURNED ? undefined : claims.cost_usdc, record.amount(of)],
    ] as const;
    for (const [name, stated, due] of amounts) {
        if (stated !== undefined) equal(name, String(baseUnits(stated)), String(due));
    }
    if (claims.execution_time_ms != null)
        equal('execution_time_ms', String(claims.execution_time_ms), String(record.timeMs(of)));
    if (claims.tokens_used != null) equal('tokens_used', String(claims.tokens_used), String(record.tokens(of)));
    return 'every stated amount is the one on chain';
}

/** The address in the link to an explorer. */
export function recordOf({ on_chain_record: link }: Pick<Claims, 'on_chain_record'>): string {
    const parts = new URL(link).pathname.split('/').reverse();
    return (
        parts.find((part) => /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(part)) ??
        fail('the link to the record names no account')
    );
}

async function collect(claims: Claims, expected: Expected, node: Node, signal: AbortSignal): Promise<Evidence> {
    const { programId } = node;
    const address = recordOf(claims);
    const config = await derivedAddress(programId, utf8('config'));
    const rpc = <T>(method: string, params: unknown[]): Promise<T> => call<T>(node, signal, method, params);
    const [accounts, listed] = await Promise.all([
        rpc<{ value: (Account | null)[] }>('getMultipleAccounts', [
            [address, expected.agentId, config],
            { encoding: 'base64', commitment: 'confirmed' },
        ]),
        rpc<Listed[]>('getSignaturesForAddress', [address, { commitment: 'confirmed', limit: 1000 }]),
    ]);
    const [recordAccount, agentAccount, configAccount] = accounts.value;
    const found = account(recordAccount, 'record', programId);
    if (found.byteLength > RECORD_BYTES) throw new NodeError('the execution is still open on the node');
    const transactions = await readTransactions(listed, rpc);
    return {
        claims,
        expected,
        programId,
        address,
        record: found,
        agent: account(agentAccount, 'agent', programId),
        config: account(configAccount, 'config', programId),
        opening: openingIn(transactions, address, programId),
        settlement: settlementIn(transactions, address, programId),
    };
}

type Account = { readonly owner: string; readonly data: readonly [string, string] };
type Listed = { readonly signature: string; readonly err: unknown };

function account(found: Account | null | undefined, kind: 'record' | 'agent' | 'config', programId: string): DataView {
    if (!found) throw new NodeError(`the node does not have the ${kind} account`);
    const data = fromBase64(found.data[0]);
    if (found.owner !== programId || !startsWith(data, DISCRIMINATORS[kind])) {
        throw new WrongAccount(`the ${kind} account is none of the program ${programId}`);
    }
    return new DataView(data.buffer);
}

const startsWith = (data: Bytes, start: readonly number[]): boolean => same(data.slice(0, 8), Uint8Array.from(start));

function openingIn(transactions: readonly Transaction[], address: string, programId: string): Evidence['opening'] {
    for (const { instructions, inner, signers } of transactions) {
        for (const by of [...instructions, ...inner]) {
            const isPlain = startsWith(by.data, DISCRIMINATORS.open) && by.accounts[4] === address;
            const isGranted = startsWith(by.data, DISCRIMINATORS.openWithGrant) && by.accounts[7] === address;
            if (by.program !== programId || !(isPlain || isGranted)) continue;
            return { by, signers: signers.filter((signer) => signer === by.accounts[0]) };
        }
    }
    throw new NodeError('the node does not show the transaction that opens the execution');
}

function settlementIn(
    transactions: readonly Transaction[],
    address: string,
    programId: string,
): Evidence['settlement'] {
    for (const transaction of transactions) {
        const at = transaction.instructions.findIndex(
            ({ program, accounts, data }) =>
                program === programId && accounts[3] === address && startsWith(data, DISCRIMINATORS.complete),
        );
        if (at >= 0) return { transaction, at };
    }
    throw new NodeError('the node does not show the transaction that settles the execution');
}

type Rpc = <T>(method: string, params: unknown[]) => Promise<T>;

/** The oldest ones: the opening is the first about a record, and its settlement follows. */
async function readTransactions(listed: readonly Listed[], rpc: Rpc): Promise<Transaction[]> {
    const good = listed
        .filter(({ err }) => err === null)
        .slice(-MOST_TRANSACTIONS)
        .reverse();
    // Executions that are opened or settled together share a transaction of version 1.
    const config = { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
    return Promise.all(
        good.map(async ({ signature }) => {
            const found = await rpc<RpcTransaction | null>('getTransaction', [signature, config]);
            if (found?.meta == null) throw new NodeError(`the node does not have the transaction ${signature}`);
            return transactionOf(found);
        }),
    );
}

type RpcInstruction = { programIdIndex: number; accounts: number[]; data: string };
type RpcBalance = { accountIndex: number; owner: string; mint: string; uiTokenAmount: { amount: string } };
type RpcTransaction = {
    transaction: {
        message: { accountKeys: string[]; header: { numRequiredSignatures: number }; instructions: RpcInstruction[] };
    };
    meta: {
        loadedAddresses?: { writable: string[]; readonly: string[] };
        innerInstructions?: { index: number; instructions: RpcInstruction[] }[] | null;
        preTokenBalances?: RpcBalance[] | null;
        postTokenBalances?: RpcBalance[] | null;
    } | null;
};

/** Longest base58 text of an instruction's data that fits in a transaction. */
const MAX_DATA_CHARS = 2_000;

function transactionOf({ transaction: { message }, meta }: RpcTransaction): Transaction {
    const { writable = [], readonly = [] } = meta?.loadedAddresses ?? {};
    const keys = [...message.accountKeys, ...writable, ...readonly];
    const plain = ({ programIdIndex, accounts, data }: RpcInstruction): Instruction => ({
        program: keys[programIdIndex] ?? '',
        accounts: accounts.map((index) => keys[index] ?? ''),
        data: data.length <= MAX_DATA_CHARS ? fromBase58(data) : new Uint8Array(),
    });
    const balances = (of: RpcBalance[] | null | undefined): Balance[] =>
        (of ?? []).map(({ accountIndex, owner, mint, uiTokenAmount }) => ({
            account: keys[accountIndex] ?? '',
            owner,
            mint,
            amount: BigInt(uiTokenAmount.amount),
        }));
    return {
        signers: message.accountKeys.slice(0, message.header.numRequiredSignatures),
        instructions: message.instructions.map(plain),
        inner: (meta?.innerInstructions ?? []).flatMap(({ index, instructions }) =>
            instructions.map((instruction) => ({ ...plain(instruction), by: index })),
        ),
        before: balances(meta?.preTokenBalances),
        after: balances(meta?.postTokenBalances),
    };
}

export async function call<T>(
    { url, fetch }: Pick<Node, 'url' | 'fetch'>,
    signal: AbortSignal,
    method: string,
    params: unknown[],
): Promise<T> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal };
    let text: string;
    try {
        text = await readText(await fetch(url, init), MAX_RPC_BYTES);
    } catch (error) {
        throw new NodeError(`the node does not answer ${method}`, { cause: error });
    }
    let answer: { result?: T };
    try {
        answer = JSON.parse(text) as { result?: T };
    } catch {
        throw new NodeError(`the node does not answer ${method} with JSON`);
    }
    if (answer.result === undefined) throw new NodeError(`the node refuses ${method}`);
    return answer.result;
}
