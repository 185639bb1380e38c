// The four instructions of a dispute, with the accounts that the program expects.

import {
    type Address,
    type Instruction,
    type ReadonlyUint8Array,
    createNoopSigner,
    createSolanaRpc,
} from '@solana/kit';

import { readAccounts } from '../../../chain/accounts';
import { createTokenAccount, findTokenAccount } from '../../../chain/token';
import { getAnswerDisputeInstructionAsync } from '../../../generated/instructions/answerDispute';
import { getExpireDisputeInstructionAsync } from '../../../generated/instructions/expireDispute';
import { getOpenDisputeInstructionAsync } from '../../../generated/instructions/openDispute';
import { getResolveDisputeInstructionAsync } from '../../../generated/instructions/resolveDispute';
import type { Case } from './case';

/** A document that is stored: its hash and where it is. */
export type Named = { readonly hash: ReadonlyUint8Array; readonly uri: string };

export const openInstruction = (
    caller: Address,
    agent: Address,
    record: Address,
    { hash, uri }: Named,
): Promise<Instruction> => {
    const wallet = createNoopSigner(caller);
    return getOpenDisputeInstructionAsync({
        caller: wallet,
        payer: wallet,
        agent,
        record,
        evidenceHash: hash,
        evidenceUri: uri,
    });
};

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

export const expireInstruction = ({ record, recordAddress }: Case): Promise<Instruction> =>
    getExpireDisputeInstructionAsync({ agent: record.agent, record: recordAddress });

export type Decision = { readonly isUpheld: boolean; readonly slash: bigint };

/** Creates missing USDC accounts of those who are paid, at the resolver's cost. */
export async function decideInstructions(
    found: Case,
    resolver: Address,
    decision: Decision,
    reasons: Named,
    rpcUrl: string,
): Promise<Instruction[]> {
    const { record, recordAddress, config } = found;
    const { isUpheld, slash } = decision;
    const owners = [record.caller, config.insuranceOwner];
    const [callerToken, insuranceToken] = await Promise.all(
        owners.map((owner) => findTokenAccount(owner, config.usdcMint)),
    );
    if (callerToken === undefined || insuranceToken === undefined) throw new Error('There is no USDC account.');
    const resolve = await getResolveDisputeInstructionAsync({
        resolver: createNoopSigner(resolver),
        agent: record.agent,
        record: recordAddress,
        callerToken,
        insuranceToken,
        usdcMint: config.usdcMint,
        upheld: isUpheld,
        slash,
        resolutionHash: reasons.hash,
    });
    const paid = [callerToken, insuranceToken].map((account, index) => ({
        account,
        owner: owners[index],
        isPaid: slash > (index === 0 ? 0n : record.amount),
    }));
    const existing = await readAccounts(createSolanaRpc(rpcUrl), [callerToken, insuranceToken]);
    const missing = paid.filter(({ isPaid }, index) => isPaid && !existing[index]);
    return [
        ...missing.map(({ account, owner }) =>
            createTokenAccount(resolver, account, owner as Address, config.usdcMint),
        ),
        resolve,
    ];
}
