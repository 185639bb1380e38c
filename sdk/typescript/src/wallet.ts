// A wallet that pays by itself: it opens the execution on chain, and the service gets the task. The chain has one record for
// an idempotency key. Before anything is signed, the chain and the service are asked whether the call was paid before; a
// signature is kept before its first byte is sent, and while its outcome is unknown nothing else is signed.

import { Validator } from '@cfworker/json-schema';
import {
    type Address,
    type Blockhash,
    type Instruction,
    type MessagePartialSigner,
    type TransactionPartialSigner,
    address,
    appendTransactionMessageInstruction,
    compileTransaction,
    createSignableMessage,
    createTransactionMessage,
    getBase64EncodedWireTransaction,
    getSignatureFromTransaction,
    pipe,
    setTransactionMessageFeePayerSigner,
    setTransactionMessageLifetimeUsingBlockhash,
    signTransactionMessageWithSigners,
} from '@solana/kit';

import { draftOf } from './agent.js';
import { type Bytes, addressBytes, fromBase58, fromBase64, same, utf8, uuidBytes } from './bytes.js';
import { NodeError, PROGRAM_ID, call as callNode } from './chain.js';
import { Client, type ClientOptions, type Limits, type Payer, type Service, type Unpaid, variable } from './client.js';
import { verifyStrictly } from './ed25519.js';
import {
    ApiError,
    ChainRefusedError,
    ConnectionError,
    CrtxError,
    OutcomeUnknownError,
    PriceTooHighError,
} from './errors.js';
import {
    AGENT_LISTED_DISCRIMINATOR,
    CONFIG_DISCRIMINATOR,
    type Config,
    EXECUTION_RECORD_DISCRIMINATOR,
    type ExecutionRecord,
    type OpenTerms,
    getAgentListedDecoder,
    getConfigDecoder,
    getExecutionRecordDecoder,
    getOpenExecutionInstruction,
    getOpenTermsDecoder,
    getRefundExpiredExecutionInstruction,
} from './generated/program/index.js';
import { Http, isOver, sleep } from './http.js';
import { signIn } from './signIn.js';
import { derivedAddress, hashBytes, hashText, recordAddress, termsHash } from './wire.js';

/** Signs texts and transactions, and cannot change them: the key pair signers of `@solana/kit` are such ones. */
export type WalletSigner = MessagePartialSigner & TransactionPartialSigner;

/** An opening that was signed, and whose outcome is not known yet. */
export type SignedOpening = {
    readonly signature: string;
    /** Base64. Sending it again pays nothing again. */
    readonly transaction: string;
    /** After this block it cannot be taken any more. */
    readonly lastValidBlockHeight: number;
};

/**
 * Keeps an opening from before its first byte is sent until its outcome is known. The default is the memory of the process;
 * one over a file or a database also waits for the openings of a process that was killed.
 */
export type OpeningStore = {
    readonly get: (executionId: string) => Promise<SignedOpening | undefined>;
    readonly put: (executionId: string, opening: SignedOpening) => Promise<void>;
    readonly delete: (executionId: string) => Promise<void>;
};

export type WalletOptions = ClientOptions & {
    /** Openings whose outcome is not known yet. */
    readonly openings?: OpeningStore;
};

export function memoryOpenings(): OpeningStore {
    const kept = new Map<string, SignedOpening>();
    return {
        get: async (id) => kept.get(id),
        put: async (id, opening) => void kept.set(id, opening),
        delete: async (id) => void kept.delete(id),
    };
}

const TOKEN_PROGRAM = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
const CLOCK = 'SysvarC1ock11111111111111111111111111111111';
/** The offset of the time: behind slot, start of the epoch, epoch, and epoch of the leader schedule. */
const UNIX_TIME_AT = 32;
/** Of an execution that no grant paid. */
const NO_GRANT = '11111111111111111111111111111111';
const REQUEST_TIMEOUT_MS = 10_000;
/** What the check of parameters may take. */
const CHECK_MS = 1_000;
const RESEND_MS = 2_000;
const [FIRST_POLL_MS, LAST_POLL_MS] = [100, 1_000];

/** A record; `terms` as long as the execution is open. */
type Execution = ExecutionRecord & { readonly terms: OpenTerms | null };
/** What became of a transaction. It is unknown as long as none of these is proved. */
type Outcome = { readonly kind: 'landed' | 'expired' } | { readonly kind: 'refused'; readonly why: string };
type Status = { readonly slot: number; readonly err: unknown; readonly confirmationStatus?: string | null };
type Account = { readonly owner: string; readonly data: readonly [string, string] } | null;
type Read<T> = { readonly slot: number; readonly value: T };
type Named = { readonly idempotencyKey?: string; readonly executionId: string };
type Decoder<T> = { readonly decode: (bytes: Bytes) => T };

/**
 * A client whose calls a wallet pays, which signs each opening itself: no API key and no grant is needed. The wallet
 * believes its own node about prices, so `rpcUrl`, or the variable `CRTX_RPC_URL`, has to name one that you trust.
 */
export const withWallet = (
    baseUrl: string | undefined,
    signer: WalletSigner,
    options: WalletOptions = {},
): WalletClient => new WalletClient(baseUrl, signer, options);

export class WalletClient extends Client {
    readonly #wallet: Wallet;
    readonly #timeoutMs: number;

    constructor(baseUrl = variable('CRTX_URL'), signer: WalletSigner, options: WalletOptions = {}) {
        const rpcUrl = options.rpcUrl ?? variable('CRTX_RPC_URL');
        if (rpcUrl === undefined) throw new TypeError('a wallet pays by what its own Solana node says: set `rpcUrl`');
        const wallet = new Wallet(baseUrl ?? '', signer, { ...options, rpcUrl });
        super(baseUrl, undefined, { ...options, rpcUrl }, wallet);
        [this.#wallet, this.#timeoutMs] = [wallet, options.timeoutMs ?? 1_000_000];
    }

    /** Gets the price of an execution back whose deadline has passed. */
    async refund(executionId: string, { signal, timeoutMs = this.#timeoutMs }: Limits = {}): Promise<void> {
        const timeout = AbortSignal.timeout(timeoutMs);
        await this.#wallet.refund(executionId, signal === undefined ? timeout : AbortSignal.any([signal, timeout]));
    }
}

class Wallet implements Payer {
    readonly address: Address;
    readonly #openings: OpeningStore;
    readonly #programId: Address;
    /** Sends what needs no session. */
    readonly #http: Http;
    readonly #fetch: NonNullable<ClientOptions['fetch']>;
    readonly #turns = new Map<string, Promise<unknown>>();
    #token: Promise<string> | undefined;

    constructor(
        readonly baseUrl: string,
        readonly signer: WalletSigner,
        readonly options: WalletOptions & { readonly rpcUrl: string },
    ) {
        this.address = signer.address;
        this.#openings = options.openings ?? memoryOpenings();
        this.#programId = address(options.programId ?? PROGRAM_ID);
        this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
        this.#http = new Http({
            baseUrl,
            fetch: this.#fetch,
            retries: 0,
            attemptTimeoutMs: options.attemptTimeoutMs ?? 120_000,
            bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
        });
    }

    /** The token of the session, or of a new one if the service did not take it. */
    authorize = async (refused: string | undefined, signal: AbortSignal): Promise<string> => {
        const kept = this.#token;
        if (kept !== undefined) {
            const token = await kept;
            if (token !== refused) return token;
        }
        // Unless another request began a new one meanwhile.
        if (this.#token === kept) {
            const token = this.#signIn(signal);
            this.#token = token;
            token.catch(() => {
                if (this.#token === token) this.#token = undefined;
            });
        }
        return this.#token ?? this.authorize(refused, signal);
    };

    async #signIn(signal: AbortSignal): Promise<string> {
        const genesisHash = await unpaid(this.#rpc<string>('getGenesisHash', [], signal));
        const place = { baseUrl: this.baseUrl, wallet: this.address, genesisHash };
        return signIn(this.#http, place, async (text) => this.#signText(text, signal), signal);
    }

    async #signText(text: string, abortSignal: AbortSignal): Promise<Bytes> {
        const asked = this.signer.signMessages([createSignableMessage(text)], { abortSignal });
        const [signatures] = await asked.catch(unsigned({}));
        const signature = signatures?.[this.address];
        if (signature === undefined) return unsigned({})(undefined);
        return new Uint8Array(signature);
    }

    /** Calls with one id wait for each other, so that the later one finds what the earlier one paid. */
    async open(call: Unpaid, service: Service, signal: AbortSignal): Promise<boolean> {
        const { executionId } = call;
        const turn = (this.#turns.get(executionId) ?? Promise.resolve()).then(async () =>
            this.#open(call, service, signal),
        );
        const ended = turn.catch(() => undefined);
        this.#turns.set(executionId, ended);
        try {
            return await turn;
        } finally {
            if (this.#turns.get(executionId) === ended) this.#turns.delete(executionId);
        }
    }

    async #open(call: Unpaid, service: Service, signal: AbortSignal): Promise<boolean> {
        const record = address(await recordAddress(this.#programId, this.address, call.executionId));
        const isThere = async (): Promise<Read<boolean>> => {
            const { slot, value } = await this.#record(record, signal);
            return { slot, value: value !== null };
        };
        const kept = await this.#openings.get(call.executionId);
        const look = async (): Promise<boolean | undefined> =>
            isOpenOf((await this.#record(record, signal)).value, call);
        const found = await (kept === undefined ? unpaid(look()) : paidPerhaps(look(), call));
        if (found !== undefined) {
            await this.#forget(call.executionId);
            return found;
        }
        if (kept !== undefined) {
            const { kind } = await this.#outcome(kept, isThere, call, signal);
            const isOpen = await this.#opened(kind, look, call);
            if (isOpen !== undefined) return isOpen;
        }
        // Its record may be closed: then it could be opened and paid once more.
        if (await isKnown(service, call.executionId, signal)) return false;
        const opening = await this.#opening(call, service, record, signal);
        const outcome = await this.#send(opening, call, isThere, signal, this.#openings);
        const isOpen = await this.#opened(outcome.kind, look, call);
        if (isOpen === undefined) throw failed(outcome, call);
        return isOpen;
    }

    /** Whether the execution is open; `undefined` if it was never opened. */
    async #opened(
        kind: Outcome['kind'],
        look: () => Promise<boolean | undefined>,
        call: Unpaid,
    ): Promise<boolean | undefined> {
        const found = await paidPerhaps(look(), call);
        await this.#forget(call.executionId);
        // A node that is behind does not show what has landed.
        return kind === 'landed' ? (found ?? true) : found;
    }

    /** A copy that stays says nothing wrong: the record is looked at first. */
    async #forget(executionId: string): Promise<void> {
        await this.#openings.delete(executionId).catch(() => undefined);
    }

    /** The opening, for the terms that chain, service and caller agree on. */
    async #opening(call: Unpaid, service: Service, record: Address, signal: AbortSignal): Promise<Instruction> {
        const agent = address(call.agentId);
        const configAddress = await this.#derived(utf8('config'));
        const { value } = await unpaid(this.#accounts([configAddress, agent], signal));
        const config = this.#decode(value[0], CONFIG_DISCRIMINATOR, getConfigDecoder(), 'marketplace');
        const listing = this.#decode(value[1], AGENT_LISTED_DISCRIMINATOR, getAgentListedDecoder(), 'agent');
        const { maxPrice } = call;
        if (maxPrice !== undefined && listing.price > maxPrice) throw new PriceTooHighError(listing.price, maxPrice);
        const resultKey = addressBytes(listing.resultKey);
        const metadataHash = new Uint8Array(listing.metadataHash);
        const terms = await termsHash({ ...config.parameters, ...listing, resultKey, metadataHash });
        const { terms_hash: shown, input_schema: schema } = await service.agent(call.agentId, signal);
        if (terms !== shown || terms !== (call.termsHash ?? terms)) {
            throw new CrtxError('the terms have changed, or differ on chain from what was shown; nothing was signed');
        }
        checkParameters(call.parameters, schema);
        return getOpenExecutionInstruction(
            {
                caller: this.signer,
                payer: this.signer,
                config: configAddress,
                agent,
                record,
                callerToken: await this.#tokenAccount(config),
                escrow: await this.#derived(utf8('escrow'), addressBytes(agent)),
                usdcMint: config.usdcMint,
                executionId: uuidBytes(call.executionId),
                requestHash: hashBytes(call.requestHash),
                maxAmount: listing.price,
                termsHash: hashBytes(terms),
                minCover: listing.minCover,
            },
            { programAddress: this.#programId },
        );
    }

    async refund(executionId: string, signal: AbortSignal): Promise<void> {
        const call = { executionId };
        const record = address(await recordAddress(this.#programId, this.address, executionId));
        const { value: found } = await unpaid(this.#record(record, signal));
        if (found === null) throw new CrtxError('the wallet has no such execution on chain', call);
        if (found.terms === null) throw new CrtxError('the execution has ended already', call);
        const { deadlineUnixS: deadline, grant } = found.terms;
        const config = await this.#derived(utf8('config'));
        const { value } = await unpaid(this.#accounts([config, CLOCK], signal));
        const time = value[1] == null ? undefined : new DataView(fromBase64(value[1].data[0]).buffer);
        if (time === undefined || time.getBigInt64(UNIX_TIME_AT, true) <= deadline)
            throw new CrtxError(`the execution can be settled until second ${deadline.toString()}`, call);
        const market = this.#decode(value[0], CONFIG_DISCRIMINATOR, getConfigDecoder(), 'marketplace');
        const refund = getRefundExpiredExecutionInstruction(
            {
                agent: found.agent,
                record,
                rentPayer: found.rentPayer,
                escrow: await this.#derived(utf8('escrow'), addressBytes(found.agent)),
                refundToken: await this.#tokenAccount(market),
                ...(grant === NO_GRANT ? {} : { grant }),
                config,
                usdcMint: market.usdcMint,
            },
            { programAddress: this.#programId },
        );
        const hasEnded = async (): Promise<Read<boolean>> => {
            const { slot, value } = await this.#record(record, signal);
            return { slot, value: value?.terms == null };
        };
        // Sent twice it gives back once, so it need not be kept.
        const outcome = await this.#send(refund, call, hasEnded, signal);
        if (outcome.kind !== 'landed') throw failed(outcome, call);
    }

    /** Signs one instruction, keeps it, and sends it until its outcome is known. */
    async #send(
        instruction: Instruction,
        call: Named,
        isDone: () => Promise<Read<boolean>>,
        signal: AbortSignal,
        store?: OpeningStore,
    ): Promise<Outcome> {
        type Latest = { value: { blockhash: string; lastValidBlockHeight: number } };
        const latest = this.#rpc<Latest>('getLatestBlockhash', [{ commitment: 'confirmed' }], signal);
        const { blockhash, lastValidBlockHeight } = (await unpaid(latest)).value;
        const lifetime = {
            blockhash: blockhash as Blockhash,
            lastValidBlockHeight: BigInt(lastValidBlockHeight),
        };
        const message = pipe(
            createTransactionMessage({ version: 0 }),
            (empty) => setTransactionMessageFeePayerSigner(this.signer, empty),
            (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
            (lasting) => appendTransactionMessageInstruction(instruction, lasting),
        );
        const prepared = compileTransaction(message);
        // The node simulates it before the wallet signs it: whoever has the signed bytes can send them.
        const wire = getBase64EncodedWireTransaction(prepared);
        const refused = await this.#simulate(wire, isDone, call, signal);
        if (refused !== undefined) return refused;
        const signed = await signTransactionMessageWithSigners(message, { abortSignal: signal }).catch(unsigned(call));
        const signature = getSignatureFromTransaction(signed);
        const bytes = new Uint8Array(signed.messageBytes);
        if (
            !same(bytes, new Uint8Array(prepared.messageBytes)) ||
            !(await verifyStrictly(addressBytes(this.address), bytes, fromBase58(signature)))
        ) {
            throw new CrtxError('the signer did not sign this transaction; nothing was sent', call);
        }
        const opening = { signature, transaction: getBase64EncodedWireTransaction(signed), lastValidBlockHeight };
        if (isOver(signal)) throw new ConnectionError('the call was stopped; nothing was sent', call, signal.reason);
        await store?.put(call.executionId, opening);
        return this.#outcome(opening, isDone, call, signal);
    }

    /** `undefined`: the chain would take it. */
    async #simulate(
        transaction: string,
        isDone: () => Promise<Read<boolean>>,
        call: Named,
        signal: AbortSignal,
    ): Promise<Outcome | undefined> {
        const config = { encoding: 'base64', commitment: 'confirmed', sigVerify: false, replaceRecentBlockhash: true };
        type Simulated = { context: { slot: number }; value: { err: unknown; logs?: string[] | null } };
        const simulated = this.#rpc<Simulated>('simulateTransaction', [transaction, config], signal);
        const { context, value } = await unpaid(simulated);
        if (value.err === null) return undefined;
        const said = (value.logs ?? []).map((line) => /Error Message: (.+)$/.exec(line)?.[1]).find((line) => line);
        const why = said ?? JSON.stringify(value.err);
        for (let pause = FIRST_POLL_MS; !isOver(signal); pause = Math.min(pause * 1.5, LAST_POLL_MS)) {
            const seen = await refusedAt(context.slot, why, isDone).catch(() => undefined);
            if (seen !== undefined) return seen;
            await sleep(pause, signal);
        }
        throw unknown(call, signal.reason);
    }

    /**
     * Sends the same bytes until they are confirmed, or cannot be any more: the finalized chain is past the last block that can
     * take them, and a node that has reached it knows nothing of them. Throws where the time is over before.
     */
    async #outcome(
        { signature, transaction, lastValidBlockHeight }: SignedOpening,
        isDone: () => Promise<Read<boolean>>,
        call: Named,
        signal: AbortSignal,
    ): Promise<Outcome> {
        let [sentAt, last]: [number, unknown] = [-Infinity, undefined];
        const send = async (): Promise<void> => {
            if (performance.now() - sentAt < RESEND_MS) return;
            sentAt = performance.now();
            const config = { encoding: 'base64', skipPreflight: true, maxRetries: 0 };
            // Whatever the node answers, it may have passed the transaction on.
            await this.#rpc('sendTransaction', [transaction, config], signal).catch(() => undefined);
        };
        for (let pause = FIRST_POLL_MS; !isOver(signal); pause = Math.min(pause * 1.5, LAST_POLL_MS)) {
            try {
                await send();
                type Epoch = { blockHeight: number; absoluteSlot: number };
                const end = await this.#rpc<Epoch>('getEpochInfo', [{ commitment: 'finalized' }], signal);
                const { slot, status } = await this.#status(signature, signal);
                // What is only processed can still be on a fork.
                if (status?.confirmationStatus === 'confirmed' || status?.confirmationStatus === 'finalized') {
                    if (status.err === null) return { kind: 'landed' };
                    const seen = await refusedAt(status.slot, JSON.stringify(status.err), isDone);
                    if (seen !== undefined) return seen;
                } else if (status === null && slot >= end.absoluteSlot && end.blockHeight > lastValidBlockHeight) {
                    const done = await isDone();
                    if (done.value) return { kind: 'landed' };
                    if (done.slot >= end.absoluteSlot) return { kind: 'expired' };
                }
            } catch (error) {
                last = error;
            }
            await sleep(pause, signal);
        }
        throw unknown(call, last ?? signal.reason);
    }

    async #status(signature: string, signal: AbortSignal): Promise<{ slot: number; status: Status | null }> {
        type Statuses = { context: { slot: number }; value: (Status | null)[] };
        const params = [[signature], { searchTransactionHistory: true }];
        const { context, value } = await this.#rpc<Statuses>('getSignatureStatuses', params, signal);
        return { slot: context.slot, status: value[0] ?? null };
    }

    async #record(record: Address, signal: AbortSignal): Promise<Read<Execution | null>> {
        const { slot, value } = await this.#accounts([record], signal);
        if (!value[0]) return { slot, value: null };
        const decoder = getExecutionRecordDecoder();
        const found = this.#decode(value[0], EXECUTION_RECORD_DISCRIMINATOR, decoder, 'execution');
        const data = fromBase64(value[0].data[0]);
        const isOpen = data.length > decoder.fixedSize;
        return {
            slot,
            value: { ...found, terms: isOpen ? getOpenTermsDecoder().decode(data, decoder.fixedSize) : null },
        };
    }

    #decode<T>(account: Account | undefined, start: Iterable<number>, decoder: Decoder<T>, what: string): T {
        if (!account) throw new CrtxError(`the chain has no such ${what}; nothing was signed`);
        const data = fromBase64(account.data[0]);
        if (account.owner !== this.#programId || !same(data.slice(0, 8), Uint8Array.from(start))) {
            throw new CrtxError(`the account of the ${what} is none of the program ${this.#programId}`);
        }
        return decoder.decode(data);
    }

    async #accounts(addresses: readonly string[], signal: AbortSignal): Promise<Read<(Account | undefined)[]>> {
        type Accounts = { context: { slot: number }; value: Account[] };
        const params = [addresses, { encoding: 'base64', commitment: 'confirmed' }];
        const { context, value } = await this.#rpc<Accounts>('getMultipleAccounts', params, signal);
        return { slot: context.slot, value };
    }

    async #tokenAccount({ usdcMint }: Config): Promise<Address> {
        const seeds = [this.address, TOKEN_PROGRAM, usdcMint].map(addressBytes);
        return address(await derivedAddress(ASSOCIATED_TOKEN_PROGRAM, ...seeds));
    }

    async #derived(...seeds: Uint8Array[]): Promise<Address> {
        return address(await derivedAddress(this.#programId, ...seeds));
    }

    async #rpc<T>(method: string, params: unknown[], signal: AbortSignal): Promise<T> {
        const limited = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
        return callNode<T>({ url: this.options.rpcUrl, fetch: this.#fetch }, limited, method, params);
    }
}

/** Whether the record is open; `undefined` if there is none. Throws if it is of another call. */
function isOpenOf(found: Execution | null, call: Unpaid): boolean | undefined {
    if (found === null) return undefined;
    const isOther = found.terms !== null && hashText(new Uint8Array(found.terms.requestHash)) !== call.requestHash;
    if (found.agent !== call.agentId || isOther) {
        throw new CrtxError('the idempotency key belongs to another call; nothing was signed', call);
    }
    return found.terms !== null;
}

async function isKnown(service: Service, executionId: string, signal: AbortSignal): Promise<boolean> {
    try {
        await service.execution(executionId, signal);
        return true;
    } catch (error) {
        if (error instanceof ApiError && error.code === 'execution_not_found') return false;
        throw error;
    }
}

/** The service refuses parameters that do not match the agent's schema, and the money would wait for the deadline. */
function checkParameters(parameters: Record<string, unknown>, schema: object): void {
    const sent: unknown = JSON.parse(JSON.stringify(parameters));
    let why: string | undefined;
    try {
        why = limited(() => new Validator(schema, draftOf(schema)).validate(sent).errors.at(-1)?.error);
    } catch (error) {
        const cannot = "the parameters cannot be checked against the agent's input_schema; nothing was signed";
        throw new CrtxError(cannot, {}, error);
    }
    if (why === undefined) return;
    throw new CrtxError(`the parameters do not match the agent's input_schema: ${why}; nothing was signed`);
}

/**
 * Runs what a stranger wrote: regular expressions and references of a schema can take years. Node.js ends it in time;
 * where nothing can end it, it does not run, and `undefined` is the answer.
 */
function limited<T>(run: () => T): T | undefined {
    type Modules = { getBuiltinModule?: (name: 'node:vm') => typeof import('node:vm') | undefined };
    const { process } = globalThis as { process?: Modules };
    const vm = process?.getBuiltinModule?.('node:vm');
    return vm?.runInNewContext('run()', { run }, { timeout: CHECK_MS }) as T | undefined;
}

/**
 * The outcome of a transaction that the chain refused at that slot: another one may have done the same before. `undefined`:
 * the node is behind.
 */
async function refusedAt(
    slot: number,
    why: string,
    isDone: () => Promise<Read<boolean>>,
): Promise<Outcome | undefined> {
    const done = await isDone();
    if (done.value) return { kind: 'landed' };
    return done.slot >= slot ? { kind: 'refused', why } : undefined;
}

const unsigned =
    (call: Partial<Named>) =>
    (error: unknown): never => {
        throw new CrtxError('the wallet did not sign; nothing was sent', call, error);
    };

const failed = (outcome: Outcome, call: Named): CrtxError =>
    outcome.kind === 'refused'
        ? new ChainRefusedError(`the chain refused it: ${outcome.why}`, call)
        : new ConnectionError('the transaction did not land, and never will', call);

const unknown = (call: Named, cause: unknown): CrtxError =>
    new OutcomeUnknownError('a transaction was signed, and it is not known yet what became of it', call, cause);

/** A read before anything is signed. */
async function unpaid<T>(read: Promise<T>): Promise<T> {
    return read.catch((error: unknown) => {
        if (!(error instanceof NodeError)) throw error;
        throw new ConnectionError(`${error.message}; nothing was signed`, {}, error);
    });
}

/** A read after a signature: where it fails, the call may be paid. */
async function paidPerhaps<T>(read: Promise<T>, call: Named): Promise<T> {
    return read.catch((error: unknown) => {
        throw error instanceof NodeError ? unknown(call, error) : error;
    });
}
