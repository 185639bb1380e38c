// What the public page computes of a creator: which agents it shows, and the sums over them.

import { expect, test } from 'vitest';

import type { WalletAgent } from '../../src/features/creator';
import type { ListedAgent } from '../../src/features/creators/query';
import { oldestDay, rowsOf, sumsOf } from '../../src/features/creators/record';

const listed = (agent_id: string, executions: number, rate: number, ms: number): ListedAgent =>
    ({
        agent_id,
        name: agent_id,
        status: 'active',
        price_per_call_usdc: 10_000n,
        trust_usdc: 0n,
        total_executions: executions,
        success_rate: rate,
        avg_execution_time_ms: ms,
    }) as unknown as ListedAgent;

const owned = (agent_id: string, status: WalletAgent['status'], name: string | null, executions = 0): WalletAgent =>
    ({
        agent_id,
        name,
        status,
        suspended: false,
        price_per_call_usdc: 10_000n,
        trust_usdc: 0n,
        total_executions: executions,
        success_rate: executions === 0 ? 0 : 0.5,
        created_at: '2026-11-23T10:00:00Z',
    }) as unknown as WalletAgent;

test('an agent of both answers is one row, paused ones are shown, delisted and unreadable ones only count', () => {
    const { shown, all } = rowsOf(
        [listed('a', 1, 1, 100)],
        [
            owned('a', 'active', 'a', 1),
            owned('b', 'paused', 'b'),
            owned('c', 'paused', null),
            owned('d', 'delisted', 'd'),
            owned('e', 'active', null),
        ],
    );
    expect(shown.map(({ agentId }) => agentId)).toEqual(['a', 'b']);
    expect(all.map(({ agentId }) => agentId)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(all[0]?.averageMs).toBe(100);
});

test('an agent counts in success and time by its executions', () => {
    const { all } = rowsOf([listed('a', 10, 0.9, 100), listed('b', 1, 1, 1_100)], [owned('c', 'delisted', 'c', 4)]);
    // 9 and 1 of 11, and 2 of 4 that are delisted, whose times are not known.
    expect(sumsOf(all)).toEqual({ executions: 15, successRate: 12 / 15, averageMs: 200 });
});

test('a rate that is no exact fraction makes no part of an execution', () => {
    expect(sumsOf(rowsOf([listed('a', 3, 2 / 3, 5)], []).all).successRate).toBe(2 / 3);
});

test('before the first execution there is neither a rate nor a time', () => {
    expect(sumsOf(rowsOf([listed('a', 0, 0, 0)], []).all)).toEqual({
        executions: 0,
        successRate: null,
        averageMs: null,
    });
    // Failed ones have no time.
    expect(sumsOf(rowsOf([listed('a', 2, 0, 0)], []).all)).toEqual({ executions: 2, successRate: 0, averageMs: null });
});

test('the oldest day is the first of all', () => {
    const at = (created_at: string) => ({ created_at }) as WalletAgent;
    expect(oldestDay([at('2026-11-23T10:00:00Z'), at('2025-01-02T23:59:59Z')])).toBe('2025-01-02');
    expect(oldestDay([])).toBeNull();
});
