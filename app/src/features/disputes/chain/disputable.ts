// Whether a wallet can dispute an execution, until when, and what it costs: asked of the chain.

import { type Address, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { decodeOwned, readAccounts, tokenAmount } from '../../../chain/accounts';
import { findConfigAddress, findDisputeAddress, findExecutionRecordAddress } from '../../../chain/addresses';
import { CLOCK_ADDRESS, unixTimeOf } from '../../../chain/clock';
import { networkFee } from '../../../chain/fee';
import { decodeExecution, uuidBytes } from '../../../chain/record';
import { StoredExecutionStatus as Status, StoredSettler } from '../../../chain/stored';
import { findTokenAccount } from '../../../chain/token';
import { CONFIG_DISCRIMINATOR, getConfigDecoder } from '../../../generated/accounts/config';
import { type ExecutionRecord } from '../../../generated/accounts/executionRecord';
import { getDisputeDecoder } from '../../../generated/accounts/dispute';
import type { Schemas } from '../../../shared/api/client';
import { SELDOM_MS } from '../../../shared/seldom';
import { words } from '../words';

const t = words.obstacles;

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
    /** What a dispute deposits, and what the wallet has. */
    readonly bond: bigint;
    readonly usdc: bigint;
    readonly mint: Address;
};

export const disputableQuery = (
    executionId: string,
    wallet: Address,
    network: Schemas['NetworkResponse'] | undefined,
) =>
    queryOptions({
        queryKey: ['disputable', executionId, wallet, network?.rpc_url ?? null] as const,
        queryFn: () =>
            readDisputable(network?.rpc_url ?? '', wallet, (network?.usdc_mint ?? '') as Address, executionId),
        enabled: typeof network?.rpc_url === 'string',
        refetchInterval: SELDOM_MS,
    });

export async function readDisputable(
    rpcUrl: string,
    wallet: Address,
    mint: Address,
    executionId: string,
): Promise<Disputable> {
    const rpc = createSolanaRpc(rpcUrl);
    const recordAddress = await findExecutionRecordAddress(wallet, uuidBytes(executionId));
    const disputeAddress = await findDisputeAddress(recordAddress);
    const configAddress = await findConfigAddress();
    const tokenAddress = await findTokenAccount(wallet, mint);
    const [[config, record, dispute, clock, payer, token], rent] = await Promise.all([
        readAccounts(rpc, [configAddress, recordAddress, disputeAddress, CLOCK_ADDRESS, wallet, tokenAddress]),
        rpc.getMinimumBalanceForRentExemption(BigInt(getDisputeDecoder().fixedSize)).send(),
    ]);
    if (!config) throw new Error(words.noMarket);
    const { parameters, usdcMint } = decodeOwned(config, getConfigDecoder(), CONFIG_DISCRIMINATOR);
    return {
        recordAddress,
        disputeAddress,
        record: record ? decodeExecution(record).record : null,
        isDisputed: Boolean(dispute),
        now: unixTimeOf(clock ?? null),
        rent: BigInt(rent),
        lamports: payer?.lamports ?? 0n,
        bond: parameters.disputeBond,
        usdc: tokenAmount(token ?? null),
        mint: usdcMint,
    };
}

/** Last second in which the dispute can be raised. */
export const disputableUntil = ({
    finishedAtUnixS,
    disputeWindowS,
}: Pick<ExecutionRecord, 'finishedAtUnixS' | 'disputeWindowS'>): number => Number(finishedAtUnixS) + disputeWindowS;

/** Why there can be no dispute, as the program would refuse it; `null` if there can. */
export function disputeObstacle({ record, isDisputed, now, rent, lamports, bond, usdc }: Disputable): string | null {
    if (record === null) {
        return t.noRecord;
    }
    if (record.status === Status.Disputed || isDisputed) return t.disputed;
    if (record.status === Status.Open) return t.unfinished;
    if (record.status !== Status.Completed) return t.refunded;
    if (record.disputeCount !== 0) return t.disputedBefore;
    if (record.settledBy === StoredSettler.Caller) return t.settledByCaller;
    if (now > disputableUntil(record)) return t.late;
    if (usdc < bond) return t.shortOfUsdc(bond, usdc);
    if (lamports < rent + networkFee({})) return t.shortOfSol;
    return null;
}
