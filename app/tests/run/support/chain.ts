// A Solana node in memory with one agent, which takes openings as the program does: one record for an execution. It can
// lose answers and let transactions disappear. Wallets are ones of the wallet standard with real keys.

import { readFileSync } from 'node:fs';
import path from 'node:path';

import {
    type Address,
    address,
    generateKeyPair,
    getAddressEncoder,
    getAddressFromPublicKey,
    getBase64Codec,
    getCompiledTransactionMessageDecoder,
    getSignatureFromTransaction,
    getTransactionDecoder,
    signatureBytes,
    verifySignature,
} from '@solana/kit';

import { findConfigAddress } from '../../../src/chain/addresses';
import { type SignTransaction, signAndSend } from '../../../src/chain/send';
import { getAgentListedCodec } from '../../../src/generated/accounts/agentListed';
import { getExecutionRecordEncoder } from '../../../src/generated/accounts/executionRecord';
import { getOpenExecutionInstructionDataDecoder } from '../../../src/generated/instructions/openExecution';
import { AGENT_MARKETPLACE_PROGRAM_ADDRESS as PROGRAM } from '../../../src/generated/programs';
import { getOpenTermsEncoder } from '../../../src/generated/types/openTerms';
import type { Send } from '../../../src/shared/wallet/useSend';
import { signTransaction } from '../../../src/shared/wallet/standard';
import { LocalWallet } from '../../../src/shared/wallet/local/wallet';

export const AGENT = address('4LWe7yJS7sgcZSnGtPgo6XMby8omoqrZPM1Hj7B8bQj7');
export const GENESIS = 'BfgQQ54NtovQhF99QGe4k34LRDaBeWWBwgVN93gXxuRZ';
const RPC_URL = 'http://node.test';

type Vector = { account: string; data: string };
const vectors = JSON.parse(
    readFileSync(path.resolve(import.meta.dirname, '../../../../tests/vectors/accounts.json'), 'utf8'),
) as Vector[];
const vector = (name: string): string => vectors.find(({ account }) => account === name)?.data ?? '';
const base64 = getBase64Codec();

export class FakeChain {
    /** Openings that took money. */
    paid = 0;
    /** The cover that these asked for. */
    readonly covers: number[] = [];
    /** Transactions that were sent, refused ones among them. */
    sent = 0;
    /** What happens to the next transactions. */
    mode: 'take' | 'lose' | 'take-and-go-silent' | 'silent' = 'take';
    readonly accounts = new Map<string, string>();
    readonly #statuses = new Map<string, { err: unknown } | null>();
    #height = 100n;

    static async start(): Promise<FakeChain> {
        const chain = new FakeChain();
        chain.accounts.set(await findConfigAddress(), vector('Config'));
        chain.list({});
        globalThis.fetch = async (url: string | URL | Request, init?: RequestInit) => chain.#fetch(String(url), init);
        return chain;
    }

    /** The agent of the vectors; its collateral is what it promises to two calls. */
    list(change: { minCover?: number; disputedAmount?: bigint }): void {
        const codec = getAgentListedCodec();
        const listing = codec.decode(base64.encode(vector('AgentListed')));
        const cover = { price: 10_000n, minCover: 2, collateral: 20_000n, disputedAmount: 0n, ...change };
        this.accounts.set(AGENT, base64.decode(codec.encode({ ...listing, ...cover })));
    }

    async #fetch(url: string, init?: RequestInit): Promise<Response> {
        if (!url.startsWith(RPC_URL)) throw new TypeError(`nobody answers at ${url}`);
        if (this.mode === 'silent') throw new TypeError('Failed to fetch');
        const { id, method, params } = JSON.parse(String(init?.body)) as {
            id: string;
            method: string;
            params: unknown[];
        };
        const result = await this.#answer(method, params);
        if (method === 'sendTransaction' && this.mode === 'take-and-go-silent') this.mode = 'silent';
        return Response.json({ jsonrpc: '2.0', id, result });
    }

    async #answer(method: string, params: unknown[]): Promise<unknown> {
        const context = { slot: 1 };
        switch (method) {
            case 'getGenesisHash':
                return GENESIS;
            case 'getMinimumBalanceForRentExemption':
                return 3_000_000;
            case 'getLatestBlockhash':
                return { context, value: { blockhash: GENESIS, lastValidBlockHeight: 150 } };
            case 'getBlockHeight':
                return Number((this.#height += this.mode === 'lose' ? 60n : 0n));
            case 'simulateTransaction':
                return { context, value: { err: null, logs: [] } };
            case 'sendTransaction':
                return this.#take(String(params[0]));
            case 'getSignatureStatuses':
                return { context, value: (params[0] as string[]).map((signature) => this.#status(signature)) };
            case 'getMultipleAccounts':
                return { context, value: (params[0] as string[]).map((key) => this.#account(key)) };
            default:
                throw new Error(`the node does not know ${method}`);
        }
    }

    #status(signature: string): object | null {
        const status = this.#statuses.get(signature);
        return status ? { slot: 1, confirmations: 1, confirmationStatus: 'confirmed', ...status } : null;
    }

    #account(key: string): object | null {
        const data = this.accounts.get(key);
        return data === undefined
            ? null
            : { data: [data, 'base64'], owner: PROGRAM, lamports: 1, executable: false, space: 1, rentEpoch: 0 };
    }

    async #take(wire: string): Promise<string> {
        const transaction = getTransactionDecoder().decode(base64.encode(wire));
        const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
        const signature = getSignatureFromTransaction(transaction);
        const payer = message.staticAccounts[0] as Address;
        const key = await crypto.subtle.importKey(
            'raw',
            new Uint8Array(getAddressEncoder().encode(payer)),
            'Ed25519',
            true,
            ['verify'],
        );
        const isSigned = await verifySignature(
            key,
            signatureBytes(new Uint8Array(transaction.signatures[payer] ?? [])),
            new Uint8Array(transaction.messageBytes),
        );
        if (!isSigned) throw new Error('the signature does not verify');
        if (this.mode === 'lose' || this.#statuses.has(signature)) return signature;
        this.sent += 1;
        const [opening] = message.version === 0 ? message.instructions : [];
        const record = message.staticAccounts[opening?.accountIndices?.[4] ?? -1] ?? '';
        const isTaken = this.accounts.has(record);
        this.#statuses.set(signature, { err: isTaken ? { InstructionError: [0, 'Custom'] } : null });
        if (isTaken) return signature;
        this.paid += 1;
        const { executionId, requestHash, minCover } = getOpenExecutionInstructionDataDecoder().decode(
            opening?.data ?? new Uint8Array(),
        );
        this.covers.push(minCover);
        this.accounts.set(record, openRecord(payer, new Uint8Array(executionId), new Uint8Array(requestHash)));
        return signature;
    }
}

function openRecord(caller: Address, executionId: Uint8Array, requestHash: Uint8Array): string {
    const zeros = new Uint8Array(32);
    const record = getExecutionRecordEncoder().encode({
        agent: AGENT,
        caller,
        rentPayer: caller,
        resultHash: zeros,
        executionId,
        revision: 1,
        amount: 1,
        openedAtUnixS: 1,
        finishedAtUnixS: 0,
        executionTimeMs: 0,
        tokensUsed: 0,
        disputeWindowS: 1,
        feeBps: 100,
        maxPenaltyMultiple: 1,
        binding: 1,
        status: 1,
        failureReason: 0,
        settledBy: 0,
        tokensReported: 0,
        disputeCount: 0,
        version: 1,
        bump: 1,
        agentsFailure: 0,
    });
    const terms = getOpenTermsEncoder().encode({
        requestHash,
        resultKey: caller,
        grant: caller,
        paidFrom: caller,
        deadlineUnixS: 1_000,
        timeoutSeconds: 60,
        reserved: new Uint8Array(4),
    });
    return base64.decode(new Uint8Array([...record, ...terms]));
}

/** A wallet of the wallet standard with a real key, which can say no. */
export class TestWallet {
    willSign = true;
    asked = 0;

    private constructor(
        readonly address: Address,
        readonly wallet: LocalWallet,
    ) {}

    static async make(): Promise<TestWallet> {
        const keys = await generateKeyPair();
        const own = await getAddressFromPublicKey(keys.publicKey);
        const wallet = new LocalWallet([{ address: own, label: 'Test', keys }], () => new Uint8Array(32));
        await wallet.features['standard:connect'].connect();
        return new TestWallet(own, wallet);
    }

    readonly send: Send = async (instructions, onStep) => {
        const sign: SignTransaction = async (bytes) => {
            this.asked += 1;
            if (!this.willSign) throw new Error('User rejected the request.');
            const [account] = this.wallet.accounts;
            if (account === undefined) throw new Error('no account');
            return signTransaction(this.wallet, account, bytes, 'solana:localnet');
        };
        return signAndSend({ rpcUrl: RPC_URL, feePayer: this.address, instructions, sign, ...(onStep && { onStep }) });
    };
}

export const network = { rpc_url: RPC_URL, genesis_hash: GENESIS } as never;
