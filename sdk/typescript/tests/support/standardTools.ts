// The tools that everybody has: `@solana/kit` and the client of the program's interface. A creator lists and settles, a caller
// opens, anybody refunds, without the service.

import {
    type Address,
    type Instruction,
    type KeyPairSigner,
    address,
    appendTransactionMessageInstructions,
    createSolanaRpc,
    createTransactionMessage,
    getAddressEncoder,
    getBase64EncodedWireTransaction,
    getProgramDerivedAddress,
    getSignatureFromTransaction,
    pipe,
    setTransactionMessageFeePayerSigner,
    setTransactionMessageLifetimeUsingBlockhash,
    signTransactionMessageWithSigners,
} from '@solana/kit';
import { expect } from 'vitest';

import { addressBytes, concat } from '../../src/bytes.js';
import {
    type AgentListed,
    type Config,
    type ExecutionRecord,
    fetchAgentListed,
    fetchConfig,
    fetchExecutionRecord,
    findAgentListedPda,
    findConfigPda,
    findEscrowPda,
    findExecutionRecordPda,
    getCompleteExecutionInstructionAsync,
    getListAgentInstructionAsync,
    getOpenExecutionInstructionAsync,
    getRefundExpiredExecutionInstructionAsync,
    getUpsertCreatorProfileInstructionAsync,
} from '../../src/generated/program/index.js';
import { type Signer, callMessage } from '../../src/index.js';

const TOKEN_PROGRAM = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const ASSOCIATED_TOKEN_PROGRAM = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const ED25519_PROGRAM = address('Ed25519SigVerify111111111111111111111111111');
export const PRICE = 10_000n;

export class StandardTools {
    readonly #rpc;

    constructor(
        rpcUrl: string,
        readonly creator: KeyPairSigner,
        readonly caller: KeyPairSigner,
        readonly resultKey: Signer,
    ) {
        this.#rpc = createSolanaRpc(rpcUrl);
    }

    async config(): Promise<Config> {
        const [config] = await findConfigPda();
        return (await fetchConfig(this.#rpc, config)).data;
    }

    async record(record: Address): Promise<ExecutionRecord> {
        return (await fetchExecutionRecord(this.#rpc, record, { commitment: 'confirmed' })).data;
    }

    async agent(): Promise<Address> {
        const [agent] = await findAgentListedPda({ creator: this.creator.address, index: 0 });
        return agent;
    }

    /** A profile and an agent, which is read back. */
    async list(): Promise<AgentListed> {
        const { usdcMint, parameters } = await this.config();
        const tier = parameters.collateralTiers.find(({ maxPrice }) => maxPrice >= PRICE);
        const profile = await getUpsertCreatorProfileInstructionAsync({ wallet: this.creator, displayName: 'kit' });
        const list = await getListAgentInstructionAsync({
            creator: this.creator,
            creatorToken: await tokenAccount(this.creator.address, usdcMint),
            usdcMint,
            index: 0,
            resultKey: address(this.resultKey.address),
            price: PRICE,
            timeoutSeconds: 5,
            binding: true,
            minCover: 0,
            collateral: tier?.collateral ?? 0n,
            metadataHash: new Uint8Array(32).fill(5),
            metadataUri: 'ipfs://nothing',
        });
        await this.#send(this.creator, [profile, list]);
        return (await fetchAgentListed(this.#rpc, await this.agent(), { commitment: 'confirmed' })).data;
    }

    /** Opens an execution. Resolves with its record. */
    async open(number: number): Promise<Address> {
        const { usdcMint } = await this.config();
        const executionId = new Uint8Array(16).fill(number);
        const open = await getOpenExecutionInstructionAsync({
            caller: this.caller,
            payer: this.caller,
            agent: await this.agent(),
            callerToken: await tokenAccount(this.caller.address, usdcMint),
            usdcMint,
            executionId,
            requestHash: new Uint8Array(32).fill(3),
            maxAmount: PRICE,
            termsHash: null,
            minCover: 0,
        });
        await this.#send(this.caller, [open]);
        const [record] = await findExecutionRecordPda({ caller: this.caller.address, executionId });
        return record;
    }

    /** The creator settles with a signed result. */
    async settle(record: Address, resultHash: string): Promise<void> {
        const { usdcMint, treasuryOwner } = await this.config();
        const { rentPayer, openedAtUnixS } = await this.record(record);
        const message = callMessage({ record, openedAtUnixS }, resultHash);
        const complete = await getCompleteExecutionInstructionAsync({
            authority: this.creator,
            agent: await this.agent(),
            record,
            rentPayer,
            creatorToken: await tokenAccount(this.creator.address, usdcMint),
            treasuryToken: await tokenAccount(treasuryOwner, usdcMint),
            usdcMint,
            resultHash: Uint8Array.from(Buffer.from(resultHash.slice(7), 'hex')),
            executionTimeMs: 7,
            tokensUsed: 8,
        });
        await this.#send(this.creator, [await proofOf(this.resultKey, message), complete]);
    }

    /** The deadline has passed, and anybody gives the price back. */
    async refund(record: Address): Promise<void> {
        const { usdcMint } = await this.config();
        const { rentPayer, agent } = await this.record(record);
        const [escrow] = await findEscrowPda({ agent });
        const refund = await getRefundExpiredExecutionInstructionAsync({
            agent,
            record,
            rentPayer,
            escrow,
            refundToken: await tokenAccount(this.caller.address, usdcMint),
            usdcMint,
        });
        await this.#send(this.creator, [refund]);
    }

    async #send(payer: KeyPairSigner, instructions: readonly Instruction[]): Promise<void> {
        const { value: latest } = await this.#rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
        const message = pipe(
            createTransactionMessage({ version: 0 }),
            (empty) => setTransactionMessageFeePayerSigner(payer, empty),
            (paid) => setTransactionMessageLifetimeUsingBlockhash(latest, paid),
            (lasting) => appendTransactionMessageInstructions([...instructions], lasting),
        );
        const signed = await signTransactionMessageWithSigners(message);
        const config = { encoding: 'base64', preflightCommitment: 'confirmed' } as const;
        await this.#rpc.sendTransaction(getBase64EncodedWireTransaction(signed), config).send();
        const signature = getSignatureFromTransaction(signed);
        const status = async (): Promise<unknown> => {
            const { value } = await this.#rpc.getSignatureStatuses([signature]).send();
            return value[0] === null ? null : [value[0]?.err, value[0]?.confirmationStatus !== 'processed'];
        };
        await expect.poll(status, { timeout: 20_000 }).toEqual([null, true]);
    }
}

async function tokenAccount(owner: Address, mint: Address): Promise<Address> {
    const seeds = [owner, TOKEN_PROGRAM, mint].map((one) => getAddressEncoder().encode(one));
    const [account] = await getProgramDerivedAddress({ programAddress: ASSOCIATED_TOKEN_PROGRAM, seeds });
    return account;
}

/** One signature with its key and message, as the Ed25519 program reads them. */
async function proofOf(signer: Signer, message: Uint8Array): Promise<Instruction> {
    const header = [1, 0, 48, 0, 255, 255, 16, 0, 255, 255, 112, 0, message.length, 0, 255, 255];
    const parts = [Uint8Array.from(header), addressBytes(signer.address), await signer.sign(message), message];
    return { programAddress: ED25519_PROGRAM, data: concat(...parts) };
}
