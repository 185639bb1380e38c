// A creator's agents as the page lists them: the chain's figures with the names and reasons of the service.

import { requiredCollateral } from '../../chain/collateral';
import type { OwnListings } from '../../chain/listing';
import { StoredAgentStatus } from '../../chain/stored';
import type { Schemas } from '../../shared/api/client';
import type { Wallet } from './query';

export type Status = Schemas['OwnListingStatusName'];
export type Reason = Schemas['ListingReason'];

export type AgentRow = {
    readonly agentId: string;
    /** `null`: the service does not say it, or not here. */
    readonly name: string | null;
    /** `undefined`: the service does not say it here. */
    readonly reason: Reason | null | undefined;
    readonly status: Status;
    /** The admin or the guardian of the marketplace stopped its new calls. */
    readonly isSuspended: boolean;
    readonly price: bigint;
    readonly executions: number;
    /** 0 to 1; `null` before the first execution. */
    readonly successRate: number | null;
    readonly openExecutions: number;
    readonly openDisputes: number;
    readonly collateral: bigint;
    /** Of an active agent with this price; `null` if the chain was not read. */
    readonly required: bigint | null;
    readonly slashed: bigint;
    /** `null`: not known. */
    readonly earned: bigint | null;
    readonly createdAt: number;
};

const STATUS: Record<number, Status> = {
    [StoredAgentStatus.Active]: 'active',
    [StoredAgentStatus.Paused]: 'paused',
    [StoredAgentStatus.Delisted]: 'delisted',
};
const ORDER: readonly Status[] = ['active', 'paused', 'delisted'];

export const statusOf = (stored: number): Status => STATUS[stored] ?? 'delisted';

/** Active ones first, then the newest. `onChain` is `null` where no node may be asked. */
export function rowsOf(onChain: OwnListings | null, wallet: Wallet | undefined): AgentRow[] {
    const rows =
        onChain === null
            ? (wallet?.agents ?? []).map(rowOfService)
            : onChain.listed.map((listed) => rowOfChain(listed, onChain, wallet));
    return rows.sort(
        (one, other) =>
            ORDER.indexOf(one.status) - ORDER.indexOf(other.status) ||
            other.createdAt - one.createdAt ||
            (one.agentId < other.agentId ? -1 : 1),
    );
}

function rowOfChain(
    { address, listing }: OwnListings['listed'][number],
    { tiers }: OwnListings,
    wallet: Wallet | undefined,
): AgentRow {
    const known = wallet?.agents.find(({ agent_id }) => agent_id === address);
    const executions = Number(listing.totalExecutions);
    return {
        agentId: address,
        name: known?.name ?? null,
        reason: known?.reason,
        status: statusOf(listing.status),
        isSuspended: listing.suspended !== 0,
        price: listing.price,
        executions,
        successRate: executions === 0 ? null : Number(listing.successfulExecutions) / executions,
        openExecutions: listing.openExecutions,
        openDisputes: listing.openDisputes,
        collateral: listing.collateral,
        required: requiredCollateral(tiers, listing),
        slashed: listing.slashedTotal,
        // Before its first completed execution an agent has earned nothing.
        earned: known?.earned_usdc ?? (listing.completedExecutions === 0n ? 0n : null),
        createdAt: Number(listing.createdAtUnixS),
    };
}

const rowOfService = (agent: Wallet['agents'][number]): AgentRow => ({
    agentId: agent.agent_id,
    name: agent.name,
    reason: agent.reason ?? null,
    status: agent.status,
    isSuspended: agent.suspended,
    price: agent.price_per_call_usdc,
    executions: agent.total_executions,
    successRate: agent.total_executions === 0 ? null : agent.success_rate,
    openExecutions: agent.open_executions,
    openDisputes: agent.open_disputes,
    collateral: agent.collateral_usdc,
    required: null,
    slashed: 0n,
    earned: agent.earned_usdc,
    createdAt: Date.parse(agent.created_at) / 1_000,
});

export type Sums = { readonly collateral: bigint; readonly openExecutions: number; readonly openDisputes: number };

export const sumsOf = (rows: readonly AgentRow[]): Sums => ({
    collateral: rows.reduce((sum, row) => sum + row.collateral, 0n),
    openExecutions: rows.reduce((sum, row) => sum + row.openExecutions, 0),
    openDisputes: rows.reduce((sum, row) => sum + row.openDisputes, 0),
});
