// The two instructions with which a caller ends an execution without the service: refund after the deadline, settlement
// with a signed result before it. The same rules as `crtx refund` and `crtx settle`.

import { type Address, type Instruction, type Rpc, type SolanaRpcApi, createNoopSigner } from '@solana/kit';

import { decodeOwned, readAccounts } from '../../../chain/accounts';
import { findConfigAddress } from '../../../chain/addresses';
import { readChainTime } from '../../../chain/clock';
import { getResultProofInstruction } from '../../../chain/proof';
import { type ChainExecution, readExecution } from '../../../chain/record';
import { StoredExecutionStatus as Status } from '../../../chain/stored';
import { createMissingAccounts } from '../../../chain/payees';
import { findTokenAccount } from '../../../chain/token';
import { AGENT_LISTED_DISCRIMINATOR, getAgentListedDecoder } from '../../../generated/accounts/agentListed';
import { CONFIG_DISCRIMINATOR, getConfigDecoder } from '../../../generated/accounts/config';
import type { ExecutionRecord } from '../../../generated/accounts/executionRecord';
import { getCompleteExecutionInstructionAsync } from '../../../generated/instructions/completeExecution';
import { getRefundExpiredExecutionInstructionAsync } from '../../../generated/instructions/refundExpiredExecution';
import type { OpenTerms } from '../../../generated/types/openTerms';
import { spanText } from '../../../shared/time/spans';
import { verifyStrictly } from '../verify/ed25519';
import { words } from '../words';
import type { SignedAnswer } from './answer';

const NOBODY = '11111111111111111111111111111111' as Address;

type Node = Rpc<SolanaRpcApi>;
/** An execution that has not ended. */
const { ending, settle } = words;

type Open = { readonly record: ExecutionRecord; readonly terms: OpenTerms };

/** Gives the price back to the wallet that paid. Anybody may do it, so `payer` can be another one. */
export async function refundInstructions(rpc: Node, address: Address, payer: Address): Promise<Instruction[]> {
    const { record, terms } = openOf(await readExecution(rpc, address));
    const [{ usdcMint }, now] = await Promise.all([readConfig(rpc), readChainTime(rpc)]);
    if (now <= terms.deadlineUnixS) {
        const left = spanText(Number(terms.deadlineUnixS - now) + 1);
        throw new Error(ending.tooEarly(left));
    }
    const refundToken = await findTokenAccount(record.caller, usdcMint);
    const refund = await getRefundExpiredExecutionInstructionAsync({
        agent: record.agent,
        record: address,
        rentPayer: record.rentPayer,
        refundToken,
        ...(terms.grant !== NOBODY && { grant: terms.grant }),
        usdcMint,
    });
    return [...(await createMissingAccounts(rpc, payer, usdcMint, [record.caller])), refund];
}

/** Pays the creator for a result that the execution's result key signed. */
export async function settlementInstructions(
    rpc: Node,
    address: Address,
    wallet: Address,
    answer: SignedAnswer,
): Promise<Instruction[]> {
    const { record, terms } = openOf(await readExecution(rpc, address));
    const [config, creator, now] = await Promise.all([
        readConfig(rpc),
        readCreator(rpc, record.agent),
        readChainTime(rpc),
    ]);
    if (wallet !== record.caller && wallet !== creator) throw new Error(ending.otherAccount);
    if (now > terms.deadlineUnixS) throw new Error(ending.tooLate);
    const proof = await proofOf(answer, record, terms, address);
    const { usdcMint, treasuryOwner } = config;
    const settlement = await getCompleteExecutionInstructionAsync({
        authority: createNoopSigner(wallet),
        agent: record.agent,
        record: address,
        rentPayer: record.rentPayer,
        creatorToken: await findTokenAccount(creator, usdcMint),
        treasuryToken: await findTokenAccount(treasuryOwner, usdcMint),
        usdcMint,
        resultHash: answer.resultHash,
        executionTimeMs: (now > record.openedAtUnixS ? now - record.openedAtUnixS : 0n) * 1_000n,
        tokensUsed: answer.tokensUsed,
    });
    // The proof stands directly before the settlement.
    return [...(await createMissingAccounts(rpc, wallet, usdcMint, [creator, treasuryOwner])), proof, settlement];
}

/** Checks the signatures by the result key of the opening, strictly. */
async function proofOf(
    answer: SignedAnswer,
    record: ExecutionRecord,
    terms: OpenTerms,
    address: Address,
): Promise<Instruction> {
    const { resultHash, signature, callSignature } = answer;
    const result = { resultHash, resultKey: terms.resultKey, signature };
    if (!(await verifyStrictly(result))) throw new Error(settle.wrongKey);
    if (record.binding !== 1) return getResultProofInstruction(result);
    if (callSignature === null) throw new Error(settle.noCallSignature);
    const opening = { record: address, openedAtUnixS: record.openedAtUnixS };
    const bound = { resultHash, resultKey: terms.resultKey, signature: callSignature, opening };
    if (!(await verifyStrictly(bound))) throw new Error(settle.otherCall);
    return getResultProofInstruction(bound);
}

function openOf(found: ChainExecution | null): Open {
    if (found === null) throw new Error(ending.gone);
    const { record, terms } = found;
    if (terms !== null) return { record, terms };
    const isRefunded = record.status === Status.Failed || record.status === Status.Expired;
    throw new Error(isRefunded ? ending.alreadyRefunded : ending.alreadySettled);
}

async function readConfig(rpc: Node) {
    const [account] = await readAccounts(rpc, [await findConfigAddress()]);
    if (!account) throw new Error(ending.noMarket);
    return decodeOwned(account, getConfigDecoder(), CONFIG_DISCRIMINATOR);
}

async function readCreator(rpc: Node, agent: Address): Promise<Address> {
    const [account] = await readAccounts(rpc, [agent]);
    if (!account) throw new Error(ending.noAgent);
    return decodeOwned(account, getAgentListedDecoder(), AGENT_LISTED_DISCRIMINATOR).creator;
}
