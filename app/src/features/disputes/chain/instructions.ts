// The five instructions of a dispute, with the accounts that the program expects. Missing USDC accounts of those who are
// paid are created at the cost of the wallet that signs.

import {
    type Address,
    type Instruction,
    type ReadonlyUint8Array,
    createNoopSigner,
    createSolanaRpc,
} from '@solana/kit';

import { createMissingAccounts } from '../../../chain/payees';
import { findTokenAccount } from '../../../chain/token';
import { getAnswerDisputeInstructionAsync } from '../../../generated/instructions/answerDispute';
import { getCancelDisputeInstructionAsync } from '../../../generated/instructions/cancelDispute';
import { getExpireDisputeInstructionAsync } from '../../../generated/instructions/expireDispute';
import { getOpenDisputeInstructionAsync } from '../../../generated/instructions/openDispute';
import { getResolveDisputeInstructionAsync } from '../../../generated/instructions/resolveDispute';
import { DisputeDecision } from '../../../generated/types/disputeDecision';
import { words } from '../words';
import { type Case, compensationAtExpiry } from './case';

/** A document that is stored: its hash and where it is. */
export type Named = { readonly hash: ReadonlyUint8Array; readonly uri: string };

export async function openInstructions(
    caller: Address,
    agent: Address,
    record: Address,
    mint: Address,
    { hash, uri }: Named,
    rpcUrl: string,
): Promise<Instruction[]> {
    const wallet = createNoopSigner(caller);
    const open = await getOpenDisputeInstructionAsync({
        caller: wallet,
        payer: wallet,
        agent,
        record,
        callerToken: await findTokenAccount(caller, mint),
        usdcMint: mint,
        evidenceHash: hash,
        evidenceUri: uri,
    });
    // The program looks at the account even if there is no bond.
    return [...(await createMissingAccounts(createSolanaRpc(rpcUrl), caller, mint, [caller])), open];
}

export const answerInstruction = (
    { record, recordAddress }: Case,
    creator: Address,
    { hash, uri }: Named,
): Promise<Instruction> =>
    getAnswerDisputeInstructionAsync({
        creator: createNoopSigner(creator),
        agent: record.agent,
        record: recordAddress,
        answerHash: hash,
        answerUri: uri,
    });

/** The accounts that the instructions share that end a dispute. */
const ended = ({ record, recordAddress, config }: Case) => ({
    agent: record.agent,
    record: recordAddress,
    usdcMint: config.usdcMint,
});

/** The caller gives the dispute up. */
export async function cancelInstructions(found: Case, rpcUrl: string): Promise<Instruction[]> {
    const { record, dispute, config } = found;
    const cancel = await getCancelDisputeInstructionAsync({
        ...ended(found),
        caller: createNoopSigner(record.caller),
        callerToken: await findTokenAccount(record.caller, config.usdcMint),
    });
    return withPayees(found, record.caller, dispute.bond > 0n ? [record.caller] : [], cancel, rpcUrl);
}

/** Anybody can send it, and pays for it. */
export async function expireInstructions(found: Case, payer: Address, rpcUrl: string): Promise<Instruction[]> {
    const { record, dispute, config } = found;
    const expire = await getExpireDisputeInstructionAsync({
        ...ended(found),
        callerToken: await findTokenAccount(record.caller, config.usdcMint),
    });
    const isPaid = dispute.bond + compensationAtExpiry(found) > 0n;
    return withPayees(found, payer, isPaid ? [record.caller] : [], expire, rpcUrl);
}

export type Decision = { readonly decision: DisputeDecision; readonly slash: bigint };

export async function decideInstructions(
    found: Case,
    resolver: Address,
    { decision, slash }: Decision,
    reasons: Named,
    rpcUrl: string,
): Promise<Instruction[]> {
    const { record, agent, dispute, config } = found;
    if (agent === null) throw new Error(words.noListing);
    const bondOwner = decision === DisputeDecision.Abusive ? agent.creator : record.caller;
    const [bondToken, callerToken, insuranceToken] = await Promise.all([
        findTokenAccount(bondOwner, config.usdcMint),
        findTokenAccount(record.caller, config.usdcMint),
        findTokenAccount(config.insuranceOwner, config.usdcMint),
    ]);
    const resolve = await getResolveDisputeInstructionAsync({
        ...ended(found),
        resolver: createNoopSigner(resolver),
        bondToken,
        callerToken,
        insuranceToken,
        decision,
        slash,
        resolutionHash: reasons.hash,
        resolutionUri: reasons.uri,
    });
    const paid = [
        ...(dispute.bond > 0n ? [bondOwner] : []),
        ...(slash > 0n ? [record.caller] : []),
        ...(slash > record.amount ? [config.insuranceOwner] : []),
    ];
    return withPayees(found, resolver, paid, resolve, rpcUrl);
}

const withPayees = async (
    { config }: Case,
    payer: Address,
    paid: readonly Address[],
    instruction: Instruction,
    rpcUrl: string,
): Promise<Instruction[]> => [
    ...(await createMissingAccounts(createSolanaRpc(rpcUrl), payer, config.usdcMint, [...new Set(paid)])),
    instruction,
];
