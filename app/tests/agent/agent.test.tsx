// @vitest-environment happy-dom
// What the page of an agent says first, and the states of its newest executions.

import { cleanup, render, screen, within } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';

import { Recent } from '../../src/features/agent/History';
import type { Agent, AgentHistory } from '../../src/features/agent/query';
import { Standing } from '../../src/features/agent/Standing';

afterEach(cleanup);

const agentOf = (change: object = {}, creator: object = {}): Agent =>
    ({ status: 'active', suspended: false, creator: { resembles_verified: false, ...creator }, ...change }) as Agent;

const standing = (agent: Agent): string => {
    cleanup();
    return render(<Standing agent={agent} />).container.textContent;
};

test('an active agent of a creator with a name of its own needs no words', () => {
    expect(standing(agentOf())).toBe('');
});

test('a suspended agent is not said to be paused by its creator, and the reader learns who can resume it', () => {
    const text = standing(agentOf({ status: 'paused', suspended: true }));
    expect(text).toContain('Suspended by the marketplace');
    expect(text).toContain('only the admin can resume it');
    expect(text).not.toContain('Paused by its creator');
    expect(standing(agentOf({ status: 'paused' }))).toContain('Paused by its creator');
});

test('a name that looks like the one of a verified creator is pointed out', () => {
    const text = standing(agentOf({}, { resembles_verified: true }));
    expect(text).toContain('This name looks like that of a verified creator, but it is another one');
});

type Execution = AgentHistory['recent_executions'][number];

const execution = (record: string, status: Execution['status'], reason: Execution['failure_reason']): Execution => ({
    record,
    status,
    failure_reason: reason,
    completed_at: null,
    cost_usdc: 0n,
    execution_time_ms: null,
    initiated_at: '2026-11-23T00:00:00Z',
    on_chain_record: 'http://x.test/',
});

test('expired calls are not failed ones, and a failure has its reason', () => {
    render(
        <Recent
            executions={[
                execution('a', 'expired', 'expired'),
                execution('b', 'failed', 'creator_failed'),
                execution('c', 'completed', null),
                execution('d', 'failed', 'a reason of later' as Execution['failure_reason']),
            ]}
            network={undefined}
        />,
    );
    const [, ...rows] = screen.getAllByRole('row');
    const states = rows.map((row) => within(row).getAllByRole('cell')[0]?.textContent);
    expect(states).toEqual([
        'Expired nobody settled it in time',
        'Failed the creator reported a failure',
        'Completed',
        'Failed',
    ]);
});
