// Transactions as an RPC node returns them: those about an account, what each called and which tokens it moved. Every
// one is read once.

import {
    type Address,
    type ReadonlyUint8Array,
    type Rpc,
    type Signature,
    type SolanaRpcApi,
    getBase58Encoder,
} from '@solana/kit';

/** Signatures in one answer of a node. */
const PAGE = 1_000;
/** Answers that one search asks for about one account. */
const MOST_PAGES = 100;
/** Transactions about one account that one search reads. */
const MOST_READ = 1_000;
/** Transactions that are read at the same time. */
const AT_ONCE = 8;
/** The clock of the program and the times of blocks differ by less. */
const SLACK_S = 60;

export type PlainInstruction = {
    readonly programId: Address;
    readonly accounts: readonly Address[];
    readonly data: ReadonlyUint8Array;
};

/** `by`: which instruction of the transaction called it. */
export type InnerInstruction = PlainInstruction & { readonly by: number };

/** What a transaction did to one token account; base units, negative where they left. */
export type TokenChange = {
    readonly account: Address;
    readonly owner: Address;
    readonly mint: Address;
    readonly change: bigint;
};

/** A transaction that went through. */
export type PlainTransaction = {
    readonly signature: Signature;
    /** Seconds since 1970; `null` if the node does not say. */
    readonly time: number | null;
    readonly instructions: readonly PlainInstruction[];
    /** What those called, in order. */
    readonly inner: readonly InnerInstruction[];
    readonly changes: readonly TokenChange[];
};

type Listed = { readonly signature: Signature; /** Seconds since 1970. */ readonly time: number | null };

export class History {
    /** Newest first. */
    readonly #listed: Listed[] = [];
    #last: Signature | undefined;
    #oldest: number | null = null;
    #pages = 0;
    /** The node has no older ones. */
    #whole = false;
    #listing: Promise<void> = Promise.resolve();
    readonly #transactions = new Map<Signature, Promise<PlainTransaction | null>>();

    constructor(
        readonly rpc: Rpc<SolanaRpcApi>,
        readonly address: Address,
    ) {}

    /**
     * The first result of `look` for the successful transactions about the account, else their number. Anybody can add
     * transactions: those next to one of `times` (seconds since 1970) come first, else the newest, and the work is
     * bounded.
     */
    async first<T extends object>(
        look: (transaction: PlainTransaction) => T | null,
        times: readonly number[] = [],
    ): Promise<T | number> {
        const since = times.length === 0 ? -Infinity : Math.min(...times) - SLACK_S;
        for (const from of new Set([since, -Infinity])) {
            await (this.#listing = this.#listing.then(() => this.#list(from)));
            const nearest = this.#nearest(times);
            for (let at = 0; at < nearest.length; at += at === 0 ? 1 : AT_ONCE) {
                const some = nearest.slice(at, at === 0 ? 1 : at + AT_ONCE);
                const transactions = await Promise.all(some.map(({ signature }) => this.#read(signature)));
                for (const transaction of transactions) {
                    const seen = transaction && look(transaction);
                    if (seen) return seen;
                }
            }
        }
        if (this.#whole && this.#listed.length <= MOST_READ) return this.#listed.length;
        throw new Error(
            `not found among ${MOST_READ} of at least ${this.#listed.length} transactions of the account; strangers can add any number`,
        );
    }

    #nearest(times: readonly number[]): readonly Listed[] {
        const distance = ({ time }: Listed): number =>
            time === null ? Infinity : Math.min(...times.map((known) => Math.abs(known - time)));
        const order =
            times.length === 0 ? this.#listed : [...this.#listed].sort((a, b) => compare(distance(a), distance(b)));
        return order.slice(0, MOST_READ);
    }

    /** Lists the transactions since that time, as far as the bound allows. */
    async #list(since: number): Promise<void> {
        while (!this.#whole && this.#pages < MOST_PAGES && (this.#oldest ?? Infinity) >= since) {
            const before = this.#last === undefined ? {} : { before: this.#last };
            const page = await this.rpc
                .getSignaturesForAddress(this.address, { commitment: 'confirmed', limit: PAGE, ...before })
                .send();
            this.#pages += 1;
            this.#whole = page.length < PAGE;
            for (const { signature, err, blockTime } of page) {
                this.#last = signature;
                this.#oldest = blockTime === null ? null : Number(blockTime);
                if (err === null) this.#listed.push({ signature, time: this.#oldest });
            }
        }
    }

    #read(signature: Signature): Promise<PlainTransaction | null> {
        const known = this.#transactions.get(signature) ?? readTransaction(this.rpc, signature);
        this.#transactions.set(signature, known);
        return known;
    }
}

const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);

const CONFIG = { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 } as const;

/** `null` if it failed. */
async function readTransaction(rpc: Rpc<SolanaRpcApi>, signature: Signature): Promise<PlainTransaction | null> {
    const answer = await rpc.getTransaction(signature, CONFIG).send();
    if (answer === null) throw new Error(`the RPC node lists ${signature} but does not have it`);
    const found = answer as unknown as RpcTransaction;
    return metaOf(found).err === null ? plainOf(signature, found) : null;
}

/** A transaction with everything that a reader of it wants to see, also one that failed. */
export type WholeTransaction = PlainTransaction & {
    readonly slot: bigint;
    readonly hasFailed: boolean;
    /** Lamports. */
    readonly fee: bigint;
    readonly logs: readonly string[];
    /** What it did to the SOL of each account. */
    readonly lamports: readonly { readonly account: Address; readonly change: bigint }[];
};

/** `null`: the node does not have it. */
export async function readWhole(rpc: Rpc<SolanaRpcApi>, signature: Signature): Promise<WholeTransaction | null> {
    const answer = await rpc.getTransaction(signature, CONFIG).send();
    if (answer === null) return null;
    const found = answer as unknown as RpcTransaction;
    const { err, fee = 0, logMessages, preBalances = [], postBalances = [] } = metaOf(found);
    const changeAt = (index: number): bigint => BigInt(postBalances[index] ?? 0) - BigInt(preBalances[index] ?? 0);
    return {
        ...plainOf(signature, found),
        slot: BigInt(found.slot),
        hasFailed: err !== null,
        fee: BigInt(fee),
        logs: logMessages ?? [],
        lamports: keysOf(found).map((account, index) => ({ account, change: changeAt(index) })),
    };
}

function metaOf({ meta }: RpcTransaction): NonNullable<RpcTransaction['meta']> {
    if (meta === null) throw new Error('the RPC node gives no metadata');
    return meta;
}

function keysOf(found: RpcTransaction): readonly Address[] {
    const { writable = [], readonly = [] } = metaOf(found).loadedAddresses ?? {};
    return [...found.transaction.message.accountKeys, ...writable, ...readonly];
}

function plainOf(signature: Signature, found: RpcTransaction): PlainTransaction {
    const { innerInstructions, preTokenBalances, postTokenBalances } = metaOf(found);
    const keys = keysOf(found);
    const plain = ({ programIdIndex, accounts, data }: RpcInstruction): PlainInstruction => ({
        programId: keyAt(keys, programIdIndex),
        accounts: accounts.map((index) => keyAt(keys, index)),
        data: getBase58Encoder().encode(data),
    });
    return {
        signature,
        time: found.blockTime === null ? null : Number(found.blockTime),
        instructions: found.transaction.message.instructions.map(plain),
        inner: (innerInstructions ?? []).flatMap(({ index, instructions }) =>
            instructions.map((instruction) => ({ ...plain(instruction), by: Number(index) })),
        ),
        changes: changesOf(keys, preTokenBalances ?? [], postTokenBalances ?? []),
    };
}

/** An account that is missing on one side had nothing there. */
function changesOf(
    keys: readonly Address[],
    before: readonly RpcBalance[],
    after: readonly RpcBalance[],
): TokenChange[] {
    const changes = new Map<Address, TokenChange>();
    const add = ({ accountIndex, mint, owner, uiTokenAmount }: RpcBalance, sign: bigint): void => {
        const account = keyAt(keys, accountIndex);
        const change = (changes.get(account)?.change ?? 0n) + sign * BigInt(uiTokenAmount.amount);
        changes.set(account, { account, owner, mint, change });
    };
    for (const balance of before) add(balance, -1n);
    for (const balance of after) add(balance, 1n);
    return [...changes.values()];
}

function keyAt(keys: readonly Address[], index: number | bigint): Address {
    const key = keys[Number(index)];
    if (key === undefined) throw new Error('an account index is out of range');
    return key;
}

type RpcInstruction = { programIdIndex: number; accounts: readonly number[]; data: string };
type RpcBalance = { accountIndex: number; mint: Address; owner: Address; uiTokenAmount: { amount: string } };
type RpcTransaction = {
    slot: bigint | number;
    blockTime: bigint | number | null;
    transaction: { message: { accountKeys: readonly Address[]; instructions: readonly RpcInstruction[] } };
    meta: null | {
        err: unknown;
        fee?: bigint | number;
        logMessages?: readonly string[] | null;
        preBalances?: readonly (bigint | number)[];
        postBalances?: readonly (bigint | number)[];
        loadedAddresses?: { writable: readonly Address[]; readonly: readonly Address[] };
        innerInstructions?: readonly { index: number | bigint; instructions: readonly RpcInstruction[] }[] | null;
        preTokenBalances?: readonly RpcBalance[] | null;
        postTokenBalances?: readonly RpcBalance[] | null;
    };
};
