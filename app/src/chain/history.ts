// Transactions as an RPC node returns them: those about an account, what each called and which tokens it moved. Every
// one is read once.

import { type Address, type ReadonlyUint8Array, type Rpc, type Signature, type SolanaRpcApi, getBase58Encoder } from '@solana/kit';

/** Signatures about one account that are looked at: one answer of a node. */
const MOST = 1_000;

export type PlainInstruction = {
    readonly programId: Address;
    readonly accounts: readonly Address[];
    readonly data: ReadonlyUint8Array;
};

/** What a transaction did to one token account; base units, negative where they left. */
export type TokenChange = { readonly account: Address; readonly owner: Address; readonly mint: Address; readonly change: bigint };

/** A transaction that went through. */
export type PlainTransaction = {
    readonly signature: Signature;
    /** Seconds since 1970; `null` if the node does not say. */
    readonly time: number | null;
    readonly instructions: readonly PlainInstruction[];
    /** What those called, in order. */
    readonly inner: readonly PlainInstruction[];
    readonly changes: readonly TokenChange[];
};

export class History {
    #signatures: Promise<readonly Signature[]> | undefined;
    readonly #transactions = new Map<Signature, Promise<PlainTransaction | null>>();

    constructor(
        readonly rpc: Rpc<SolanaRpcApi>,
        readonly address: Address,
    ) {}

    /** The first result of `look` for the successful transactions about the account, newest first; else their number. */
    async first<T extends object>(look: (transaction: PlainTransaction) => T | null): Promise<T | number> {
        const signatures = await (this.#signatures ??= this.#list());
        for (const signature of signatures) {
            const transaction = await this.#read(signature);
            const seen = transaction && look(transaction);
            if (seen) return seen;
        }
        return signatures.length;
    }

    async #list(): Promise<readonly Signature[]> {
        const found = await this.rpc.getSignaturesForAddress(this.address, { commitment: 'confirmed', limit: MOST }).send();
        return found.filter(({ err }) => err === null).map(({ signature }) => signature);
    }

    #read(signature: Signature): Promise<PlainTransaction | null> {
        const known = this.#transactions.get(signature) ?? readTransaction(this.rpc, signature);
        this.#transactions.set(signature, known);
        return known;
    }
}

/** `null` if it failed. */
async function readTransaction(rpc: Rpc<SolanaRpcApi>, signature: Signature): Promise<PlainTransaction | null> {
    const config = { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 0 } as const;
    const answer = await rpc.getTransaction(signature, config).send();
    if (answer === null) throw new Error(`the RPC node lists ${signature} but does not have it`);
    const { transaction, meta, blockTime } = answer as unknown as RpcTransaction;
    if (meta === null) throw new Error('the RPC node gives no metadata');
    if (meta.err !== null) return null;
    const { writable = [], readonly = [] } = meta.loadedAddresses ?? {};
    const keys = [...transaction.message.accountKeys, ...writable, ...readonly];
    const plain = ({ programIdIndex, accounts, data }: RpcInstruction): PlainInstruction => ({
        programId: keyAt(keys, programIdIndex),
        accounts: accounts.map((index) => keyAt(keys, index)),
        data: getBase58Encoder().encode(data),
    });
    return {
        signature,
        time: blockTime === null ? null : Number(blockTime),
        instructions: transaction.message.instructions.map(plain),
        inner: (meta.innerInstructions ?? []).flatMap(({ instructions }) => instructions.map(plain)),
        changes: changesOf(keys, meta.preTokenBalances ?? [], meta.postTokenBalances ?? []),
    };
}

/** An account that is missing on one side had nothing there. */
function changesOf(keys: readonly Address[], before: readonly RpcBalance[], after: readonly RpcBalance[]): TokenChange[] {
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
    blockTime: bigint | number | null;
    transaction: { message: { accountKeys: readonly Address[]; instructions: readonly RpcInstruction[] } };
    meta: null | {
        err: unknown;
        loadedAddresses?: { writable: readonly Address[]; readonly: readonly Address[] };
        innerInstructions?: readonly { instructions: readonly RpcInstruction[] }[] | null;
        preTokenBalances?: readonly RpcBalance[] | null;
        postTokenBalances?: readonly RpcBalance[] | null;
    };
};
