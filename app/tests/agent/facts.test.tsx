// @vitest-environment happy-dom
// The record of an agent: what counts, what does not, and what trust is.

import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, expect, test, vi } from 'vitest';

import { Facts } from '../../src/features/agent/Facts';
import type { Agent } from '../../src/features/agent/query';
import { TRUST } from '../../src/shared/trust';
import { quietQueries } from '../support/quietQueries';

vi.mock('@tanstack/react-router', async (original) => ({
    ...(await original<object>()),
    Link: ({ children }: { children: ReactNode }) => <a href="/">{children}</a>,
}));

afterEach(cleanup);

const agentOf = (unproved: number, upheld: number): Agent =>
    ({
        agent_id: 'agent',
        status: 'active',
        price_per_call_usdc: 10_000n,
        trust_usdc: 123_456n,
        total_executions: 5,
        unique_callers: 2,
        unproved_failures: unproved,
        timeout_seconds: 60,
        binding: true,
        min_cover: 1,
        created_at: '2026-11-23T00:00:00Z',
        on_chain_listing: 'http://x.test/',
        creator: { pubkey: 'creator', display_name: 'Ada' },
        metrics: {
            window_days: 30,
            success_rate: 1,
            dispute_rate: 0,
            p50_execution_time_ms: null,
            p95_execution_time_ms: null,
            wallets_with_upheld_disputes: upheld,
            free_collateral_usdc: 0n,
            collateral_cover: null,
            amount_at_risk_usdc: 0n,
        },
    }) as unknown as Agent;

const textOf = (agent: Agent): string => {
    cleanup();
    const page = (
        <QueryClientProvider client={quietQueries()}>
            <Facts agent={agent} />
        </QueryClientProvider>
    );
    return render(page).container.textContent;
};

test('failures that the gateway alone reported are named as what they are', () => {
    expect(textOf(agentOf(3, 0))).toContain('3 failures, reported by the gateway alone, not counted');
    expect(textOf(agentOf(0, 0))).not.toContain('gateway');
});

test('trust stands there with its meaning', () => {
    const text = textOf(agentOf(0, 0));
    expect(text).toContain('Trust0.123456 USDC');
    expect(text).toContain(TRUST);
    expect(TRUST).toMatch(/at most 0\.10 USDC for one call and 1 USDC for one wallet/);
});

test('disputes that were found right are counted by wallet', () => {
    expect(textOf(agentOf(0, 2))).toContain('Disputes upheldof 2 wallets');
    expect(textOf(agentOf(0, 0))).not.toContain('Disputes upheld');
});
