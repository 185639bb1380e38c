// What is computed of a creator: the agents with their records, and the sums over them. Pure.

import type { WalletAgent } from '../creator';
import type { ListedAgent } from './query';

export type AgentRow = {
    readonly agentId: string;
    /** `null`: the service has no document of it. */
    readonly name: string | null;
    readonly status: WalletAgent['status'];
    readonly isSuspended: boolean;
    readonly price: bigint;
    readonly trust: bigint;
    readonly executions: number;
    /** 0 to 1; `null` before the first execution. */
    readonly successRate: number | null;
    /** `null`: none was completed, or the service does not say it here. */
    readonly averageMs: number | null;
};

const rateOf = (executions: number, rate: number): number | null => (executions === 0 ? null : rate);

const ofList = (agent: ListedAgent): AgentRow => ({
    agentId: agent.agent_id,
    name: agent.name,
    status: agent.status,
    isSuspended: false,
    price: agent.price_per_call_usdc,
    trust: agent.trust_usdc,
    executions: agent.total_executions,
    successRate: rateOf(agent.total_executions, agent.success_rate),
    averageMs: agent.avg_execution_time_ms === 0 ? null : agent.avg_execution_time_ms,
});

const ofWallet = (agent: WalletAgent): AgentRow => ({
    agentId: agent.agent_id,
    name: agent.name ?? null,
    status: agent.status,
    isSuspended: agent.suspended,
    price: agent.price_per_call_usdc,
    trust: agent.trust_usdc,
    executions: agent.total_executions,
    successRate: rateOf(agent.total_executions, agent.success_rate),
    averageMs: null,
});

/** A paused agent is in no list, and has its page if the service has its document. */
const isShownPaused = ({ status, name }: AgentRow): boolean => status === 'paused' && name !== null;

/**
 * Each agent once. `shown`: those with a page; `all`: delisted and unreadable ones, too. The list has those that take calls; the wallet has its newest agents in every state, without their
 * times.
 */
export function rowsOf(
    listed: readonly ListedAgent[],
    ofTheWallet: readonly WalletAgent[],
): { shown: AgentRow[]; all: AgentRow[] } {
    const known = new Set(listed.map(({ agent_id }) => agent_id));
    const listedRows = listed.map(ofList);
    const others = ofTheWallet.filter(({ agent_id }) => !known.has(agent_id)).map(ofWallet);
    return { shown: [...listedRows, ...others.filter(isShownPaused)], all: [...listedRows, ...others] };
}

export type Sums = {
    readonly executions: number;
    /** 0 to 1, of all executions. */
    readonly successRate: number | null;
    /** Over the successful executions of the agents whose times are known. */
    readonly averageMs: number | null;
};

export function sumsOf(rows: readonly AgentRow[]): Sums {
    const successfulOf = ({ executions, successRate }: AgentRow): number => Math.round(executions * (successRate ?? 0));
    const sum = (of: readonly AgentRow[], value: (row: AgentRow) => number): number =>
        of.reduce((total, row) => total + value(row), 0);
    const executions = sum(rows, (row) => row.executions);
    const timed = rows.filter(({ averageMs }) => averageMs !== null);
    const successes = sum(timed, successfulOf);
    return {
        executions,
        successRate: executions === 0 ? null : sum(rows, successfulOf) / executions,
        averageMs: successes === 0 ? null : sum(timed, (row) => successfulOf(row) * (row.averageMs ?? 0)) / successes,
    };
}

/** The day (UTC) of the oldest of these agents, or `null` without one. */
export const oldestDay = (agents: readonly Pick<WalletAgent, 'created_at'>[]): string | null =>
    agents.map(({ created_at }) => created_at.slice(0, 10)).sort()[0] ?? null;
