// Whether a wallet can dispute an execution, until when, and what it costs: asked of the chain.

import { type Address, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { readAccounts } from '../../../chain/accounts';
import { findDisputeAddress, findExecutionRecordAddress } from '../../../chain/addresses';
import { CLOCK_ADDRESS, unixTimeOf } from '../../../chain/clock';
import { networkFee } from '../../../chain/fee';
import { decodeExecution, uuidBytes } from '../../../chain/record';
import { StoredExecutionStatus as Status, StoredSettler } from '../../../chain/stored';
import { type ExecutionRecord } from '../../../generated/accounts/executionRecord';
import { getDisputeDecoder } from '../../../generated/accounts/dispute';

export type Disputable = {
    readonly recordAddress: Address;
    readonly disputeAddress: Address;
    /** `null`: the chain has no record of this execution of this wallet, or not any more. */
    readonly record: ExecutionRecord | null;
    /** The dispute's account exists. */
    readonly isDisputed: boolean;
    /** Time of the chain, in seconds since 1970. */
    readonly now: number;
    /** Lent for the dispute's account. */
    readonly rent: bigint;
    readonly lamports: bigint;
};

export const disputableQuery = (executionId: string, wallet: string, rpcUrl: string | null | undefined) =>
    queryOptions({
        queryKey: ['disputable', executionId, wallet, rpcUrl ?? null] as const,
        queryFn: () => readDisputable(rpcUrl ?? '', wallet as Address, executionId),
        enabled: typeof rpcUrl === 'string',
        refetchInterval: 15_000,
    });

export async function readDisputable(rpcUrl: string, wallet: Address, executionId: string): Promise<Disputable> {
    const rpc = createSolanaRpc(rpcUrl);
    const recordAddress = await findExecutionRecordAddress(wallet, uuidBytes(executionId));
    const disputeAddress = await findDisputeAddress(recordAddress);
    const [[record, dispute, clock, payer], rent] = await Promise.all([
        readAccounts(rpc, [recordAddress, disputeAddress, CLOCK_ADDRESS, wallet]),
        rpc.getMinimumBalanceForRentExemption(BigInt(getDisputeDecoder().fixedSize)).send(),
    ]);
    return {
        recordAddress,
        disputeAddress,
        record: record ? decodeExecution(record).record : null,
        isDisputed: Boolean(dispute),
        now: unixTimeOf(clock ?? null),
        rent: BigInt(rent),
        lamports: payer?.lamports ?? 0n,
    };
}

/** Last second in which the dispute can be raised. */
export const disputableUntil = ({
    finishedAtUnixS,
    disputeWindowS,
}: Pick<ExecutionRecord, 'finishedAtUnixS' | 'disputeWindowS'>): number => Number(finishedAtUnixS) + disputeWindowS;

/** Why there can be no dispute, as the program would refuse it; `null` if there can. */
export function disputeObstacle({ record, isDisputed, now, rent, lamports }: Disputable): string | null {
    if (record === null) {
        return 'The chain has no record of this execution for your wallet. A record is closed some time after its dispute window.';
    }
    if (record.status === Status.Disputed || isDisputed)
        return 'You have disputed this execution already. It can have one dispute.';
    if (record.status === Status.Open)
        return 'The execution is not finished. If no good result comes, the price goes back to you by itself.';
    if (record.status !== Status.Completed) return 'You have the price back already, so there is nothing to dispute.';
    if (record.disputeCount !== 0) return 'The execution was disputed before. It can have one dispute.';
    if (record.settledBy === StoredSettler.Caller)
        return 'You settled this execution yourself. A caller who did cannot dispute it.';
    if (now > disputableUntil(record)) return 'The time for a dispute is over.';
    if (lamports < rent + networkFee({}))
        return 'Your wallet has too little SOL for the deposit and the network fee. Send SOL to it, then go on.';
    return null;
}
