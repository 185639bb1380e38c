// A Solana node and the service of a marketplace in one `fetch`. The node takes transactions as a test wants; like the chain, it has one
// record for an execution, and takes nothing after its last block.

import {
    type Address,
    type KeyPairSigner,
    type MessagePartialSigner,
    type TransactionPartialSigner,
    address,
    getBase58Decoder,
    getCompiledTransactionMessageDecoder,
    getSignatureFromTransaction,
    getTransactionDecoder,
} from '@solana/kit';

import { addressBytes, base58, fromBase64, fromHex, hex, same, uuidText } from '../../src/bytes.js';
import {
    AGENT_LISTED_DISCRIMINATOR,
    CONFIG_DISCRIMINATOR,
    OPEN_EXECUTION_DISCRIMINATOR,
    findConfigPda,
    getAgentListedDecoder,
    getAgentListedEncoder,
    getConfigDecoder,
    getConfigEncoder,
    getExecutionRecordDecoder,
    getExecutionRecordEncoder,
    getOpenExecutionInstructionDataDecoder,
    getOpenTermsDecoder,
    getOpenTermsEncoder,
} from '../../src/generated/program/index.js';
import { PROGRAM_ID, cidOf, recordAddress, resultHash, termsHash } from '../../src/index.js';
import {
    type OpeningStore,
    type WalletClient,
    type WalletOptions,
    memoryOpenings,
    withWallet,
} from '../../src/wallet.js';

export const SERVICE = 'http://127.0.0.1:9';
export const NODE = 'http://127.0.0.1:8899';
export const AGENT = address('GWdBVAYS92PJ4dJUAriARh9HPvs7FKx3pK51V3f5NL7Q');
const CLOCK = 'SysvarC1ock11111111111111111111111111111111';
const BLOCKHASH_BLOCKS = 150;
const PRICE = 50_000n;
const RESULT = 'a result';

/** What the node does with a transaction that it gets. */
export type OnSend = 'land' | 'lose the answer' | 'drop' | 'fail';

export class Market {
    /** For each transaction that comes; the last one stays. */
    onSend: OnSend[] = ['land'];
    /** The node answers nothing. */
    isNodeDown = false;
    /** The node shows nothing of the last transactions. */
    isBehind = false;
    height = 1_000;
    time = 1_000n;
    /** What the service shows, if it is not what the chain has. */
    shownTerms: string | undefined;
    schema: object = { type: 'object' };
    genesisHash = base58(new Uint8Array(32).fill(7));
    challenge = (wallet: string): string => challengeOf({ wallet });
    /** Answers to the next dispatches; afterwards they have the result. */
    readonly dispatches: { status: number; code: string; headers?: Record<string, string> }[] = [];
    /** Executions that the service knows, though their record is closed. */
    readonly closed = new Set<string>();
    readonly log: string[] = [];
    readonly openings: { id: string; amount: bigint; termsHash: string; requestHash: string }[] = [];
    readonly tokens = new Set<string>();
    readonly accounts = new Map<string, { owner: string; data: Uint8Array }>();
    readonly #records = new Set<string>();
    readonly #statuses = new Map<string, { slot: number; err: unknown }>();
    #signIns = 0;

    static async make(): Promise<Market> {
        const market = new Market();
        const [config] = await findConfigPda();
        const empty = getConfigDecoder().decode(bytesOf(getConfigDecoder().fixedSize, CONFIG_DISCRIMINATOR));
        const parameters = { ...empty.parameters, feeBps: 100, disputeWindowS: 60n, settleGraceS: 30n };
        market.accounts.set(config, {
            owner: PROGRAM_ID,
            data: encoded(getConfigEncoder().encode({ ...empty, parameters })),
        });
        market.list(PRICE);
        return market;
    }

    /** The creator changes the price. */
    list(price: bigint): void {
        const empty = getAgentListedDecoder().decode(
            bytesOf(getAgentListedDecoder().fixedSize, AGENT_LISTED_DISCRIMINATOR),
        );
        const data = encoded(getAgentListedEncoder().encode({ ...empty, price, timeoutSeconds: 30, minCover: 2 }));
        this.accounts.set(AGENT, { owner: PROGRAM_ID, data });
    }

    async terms(): Promise<string> {
        const [config] = await findConfigPda();
        const { parameters } = getConfigDecoder().decode(this.accounts.get(config)!.data);
        const listing = getAgentListedDecoder().decode(this.accounts.get(AGENT)!.data);
        const resultKey = addressBytes(listing.resultKey);
        return termsHash({ ...parameters, ...listing, resultKey, metadataHash: new Uint8Array(listing.metadataHash) });
    }

    /** A client of this market. `signatures` counts the transactions that its wallet signed. */
    client(signer: KeyPairSigner, options: WalletOptions = {}): Buyer {
        const signatures: string[] = [];
        const openings = this.#watched(options.openings ?? memoryOpenings());
        const counting: MessagePartialSigner & TransactionPartialSigner = {
            address: signer.address,
            signMessages: async (messages, config) => {
                this.log.push('sign-in');
                return signer.signMessages(messages, config);
            },
            signTransactions: async (transactions, config) => {
                const signed = await signer.signTransactions(transactions, config);
                this.log.push('sign');
                for (const one of signed) signatures.push(getBase58Decoder().decode(one[signer.address]!));
                return signed;
            },
        };
        const settings = { rpcUrl: NODE, verify: 'content', fetch: this.fetch, timeoutMs: 10_000 } as const;
        const client = withWallet(SERVICE, counting, { ...settings, ...options, openings });
        return Object.assign(client, { signatures });
    }

    #watched(store: OpeningStore): OpeningStore {
        return {
            ...store,
            put: async (id, opening) => {
                this.log.push('keep');
                await store.put(id, opening);
            },
        };
    }

    readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
        if (isOver(init.signal)) throw new Error('stopped');
        const body: any = typeof init.body === 'string' ? JSON.parse(init.body) : undefined;
        if (url !== NODE) return this.#serve(new URL(url).pathname, init, body);
        if (this.isNodeDown) throw new Error('the node is down');
        return Response.json({ jsonrpc: '2.0', id: 1, result: await this.#answer(body.method, body.params) });
    };

    get #slot(): number {
        return this.height + 10;
    }

    async #answer(method: string, [first]: any[]): Promise<unknown> {
        const context = { slot: this.isBehind ? 1 : this.#slot };
        switch (method) {
            case 'getGenesisHash':
                return this.genesisHash;
            case 'getMultipleAccounts':
                return { context, value: (first as string[]).map((name) => this.#account(name)) };
            case 'getLatestBlockhash': {
                const blockhash = base58(fromHex(this.height.toString(16).padStart(64, '0')));
                return { context, value: { blockhash, lastValidBlockHeight: this.height + BLOCKHASH_BLOCKS } };
            }
            case 'simulateTransaction': {
                const err = (await this.#read(first as string)).err;
                return { context, value: { err, logs: err === null ? [] : ['Error Message: it is taken.'] } };
            }
            case 'sendTransaction':
                this.log.push('send');
                return this.#send(first as string);
            case 'getEpochInfo':
                return { blockHeight: this.height, absoluteSlot: this.#slot };
            case 'getSignatureStatuses': {
                const found = this.isBehind ? undefined : this.#statuses.get(first[0]);
                return { context, value: [found ? { ...found, confirmationStatus: 'confirmed' } : null] };
            }
            default:
                throw new Error(method);
        }
    }

    #account(name: string): unknown {
        if (name === CLOCK) {
            const data = new Uint8Array(40);
            new DataView(data.buffer).setBigInt64(32, this.time, true);
            return { owner: 'Sysvar1111111111111111111111111111111111111', data: [base64(data), 'base64'] };
        }
        const found = this.accounts.get(name);
        return found === undefined || (this.isBehind && this.#records.has(name))
            ? null
            : { owner: found.owner, data: [base64(found.data), 'base64'] };
    }

    async #send(wire: string): Promise<string> {
        const how = (this.onSend.length > 1 ? this.onSend.shift() : this.onSend[0]) ?? 'land';
        const { signature, err, lastHeight, run } = await this.#read(wire);
        if (how === 'drop' || this.height > lastHeight || this.#statuses.has(signature)) return signature;
        if (how === 'fail') this.#statuses.set(signature, { slot: this.#slot, err: 'AccountInUse' });
        else {
            this.#statuses.set(signature, { slot: this.#slot, err });
            if (err === null) run();
        }
        if (how === 'lose the answer') throw new Error('the connection is gone');
        return signature;
    }

    /** What a transaction would do. */
    async #read(wire: string): Promise<{ signature: string; err: unknown; lastHeight: number; run: () => void }> {
        const transaction = getTransactionDecoder().decode(fromBase64(wire));
        const message: any = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
        const { accountIndices, data } = message.instructions[0];
        const accounts: Address[] = accountIndices.map((index: number) => message.staticAccounts[index]);
        const isSigned = Object.values(transaction.signatures).every((signature) => signature !== null);
        const signature = isSigned ? getSignatureFromTransaction(transaction) : '';
        const lastHeight = Number(`0x${hex(addressBytes(message.lifetimeToken))}`) + BLOCKHASH_BLOCKS;
        if (!same(data.slice(0, 8), new Uint8Array(OPEN_EXECUTION_DISCRIMINATOR))) {
            const record = accounts[1]!;
            const found = this.accounts.get(record)!;
            const run = (): void => void this.accounts.set(record, { ...found, data: found.data.slice(0, 208) });
            return { signature, lastHeight, err: found.data.length > 208 ? null : 'Ended', run };
        }
        const args = getOpenExecutionInstructionDataDecoder().decode(data);
        const [caller, record] = [accounts[0]!, accounts[4]!];
        const agreed = args.termsHash.__option === 'Some' ? hex(new Uint8Array(args.termsHash.value)) : '';
        const isAgreed = `sha256:${agreed}` === (await this.terms());
        const err = this.accounts.has(record) ? 'AccountInUse' : isAgreed ? null : 'TermsChanged';
        const run = (): void => {
            const requestHash = new Uint8Array(args.requestHash);
            const id = uuidText(new Uint8Array(args.executionId));
            const amount = args.maxAmount;
            this.openings.push({
                id,
                amount,
                termsHash: `sha256:${agreed}`,
                requestHash: `sha256:${hex(requestHash)}`,
            });
            this.#records.add(record);
            this.accounts.set(record, { owner: PROGRAM_ID, data: recordOf(caller, args, this.time + 60n) });
        };
        return { signature, err, lastHeight, run };
    }

    async #serve(path: string, { headers }: RequestInit, body: any): Promise<Response> {
        if (path === '/v1/sign-in/challenge') return Response.json({ message: this.challenge(body.address) });
        if (path === '/v1/sign-in') {
            this.#signIns += 1;
            const token = `crtx_session_${this.#signIns}`;
            this.tokens.add(token);
            return Response.json({ token });
        }
        const token = new Headers(headers).get('authorization')?.replace('Bearer ', '') ?? '';
        if (!this.tokens.has(token)) return refusal(401, 'unauthorized');
        if (path.startsWith('/v1/agents/'))
            return Response.json({ terms_hash: this.shownTerms ?? (await this.terms()), input_schema: this.schema });
        const [, id = '', isDispatch] = /^\/v1\/executions\/([^/]+)(\/dispatch)?$/.exec(path) ?? [];
        const isKnown = this.closed.has(id) || this.openings.some((opening) => opening.id === id);
        if (isDispatch === undefined)
            return isKnown ? Response.json({ execution_id: id }) : refusal(404, 'execution_not_found');
        this.log.push('dispatch');
        const answer = this.dispatches.shift();
        if (answer !== undefined) return refusal(answer.status, answer.code, answer.headers);
        if (!isKnown) return refusal(404, 'execution_not_found');
        const hash = await resultHash(RESULT);
        return Response.json({
            execution_id: id,
            status: 'completed',
            result: RESULT,
            result_hash: hash,
            cost_usdc: 0.05,
            execution_time_ms: 5,
            on_chain_record: `https://explorer.solana.com/address/${AGENT}`,
            ipfs_url: `${SERVICE}/ipfs/${cidOf(hash)}`,
        });
    }

    /** The chain forgets the record, as after its dispute window. */
    async close(wallet: string, id: string): Promise<void> {
        this.accounts.delete(await recordAddress(PROGRAM_ID, wallet, id));
        this.closed.add(id);
    }
}

export type Buyer = WalletClient & { readonly signatures: string[] };

/** The text of a sign-in, as the service writes it. */
export function challengeOf(
    change: Partial<Record<'wallet' | 'domain' | 'uri' | 'network' | 'from' | 'to', string>>,
): string {
    const from = change.from ?? new Date().toISOString();
    const to = change.to ?? new Date(Date.now() + 300_000).toISOString();
    return [
        `${change.domain ?? '127.0.0.1:9'} wants you to sign in with your Solana account:`,
        change.wallet ?? '',
        '',
        'Sign in to crtx. This moves no money and gives no permission to spend.',
        '',
        `URI: ${change.uri ?? SERVICE}`,
        'Version: 1',
        `Chain ID: ${change.network ?? 'solana:localnet'}`,
        'Nonce: abc',
        `Issued At: ${from}`,
        `Expiration Time: ${to}`,
    ].join('\n');
}

const isOver = (signal: AbortSignal | null | undefined): boolean => signal?.aborted === true;
const encoded = (bytes: ArrayLike<number>): Uint8Array => Uint8Array.from(bytes);
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function bytesOf(length: number, discriminator: ArrayLike<number>): Uint8Array {
    const bytes = new Uint8Array(length);
    bytes.set(discriminator);
    return bytes;
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
    Response.json({ error: { code, message: 'so', execution_id: null } }, { status, headers });

type Args = {
    readonly executionId: ArrayLike<number>;
    readonly requestHash: ArrayLike<number>;
    readonly maxAmount: bigint;
};

function recordOf(caller: Address, { executionId, requestHash, maxAmount }: Args, deadlineUnixS: bigint): Uint8Array {
    const empty = getExecutionRecordDecoder().decode(new Uint8Array(getExecutionRecordDecoder().fixedSize));
    const id = Uint8Array.from(executionId);
    const parts = { agent: AGENT, caller, rentPayer: caller, executionId: id, amount: maxAmount, status: 1 };
    const record = getExecutionRecordEncoder().encode({ ...empty, ...parts });
    const none = getOpenTermsDecoder().decode(new Uint8Array(getOpenTermsDecoder().fixedSize));
    const terms = getOpenTermsEncoder().encode({ ...none, requestHash: Uint8Array.from(requestHash), deadlineUnixS });
    return Uint8Array.from([...record, ...terms]);
}
