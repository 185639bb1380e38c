// @vitest-environment happy-dom
// What the list says of a key: what is left of all, of today, and of the approval.

import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';

import { Effects } from '../../src/features/keys/Effects';
import type { Funds } from '../../src/features/keys/funds';
import { KeyCard } from '../../src/features/keys/KeyCard';
import type { Key } from '../../src/features/keys/query';
import type { TotalFigures } from '../../src/shared/api/totals';
import { quietQueries } from '../support/quietQueries';

afterEach(cleanup);

const KEY = {
    name: 'ci',
    state: 'active',
    prefix: 'crtx_test_',
    last_four: 'abcd',
    session_public_key: '4LWe7yJS7sgcZSnGtPgo6XMby8omoqrZPM1Hj7B8bQj7',
    spent_of_cap_usdc: 10_000n,
    total_cap_usdc: 5_000_000n,
    per_call_cap_usdc: 50_000n,
    daily_cap_usdc: 100_000n,
    spent_today_usdc: 30_000n,
    calls_left_by_approval: 12,
    expires_at: null,
    execution_count: 1,
    total_spent_usdc: 10_000n,
    last_used_at: null,
    created_at: '2026-11-23T00:00:00Z',
    allowed_agents: [],
} as unknown as Key;

const show = (change: Partial<Key>, spend?: TotalFigures | null): void => {
    cleanup();
    render(
        <QueryClientProvider client={quietQueries()}>
            <ul>
                <KeyCard
                    apiKey={{ ...KEY, ...change }}
                    account={KEY.session_public_key as never}
                    network={undefined}
                    chain={undefined}
                    spend={spend}
                    onSaid={() => undefined}
                />
            </ul>
        </QueryClientProvider>,
    );
};

const figure = (name: string): string | null | undefined =>
    screen.getByText(name).parentElement?.querySelector('dd')?.textContent;

test('what the key paid in 30 days is said where it is known', () => {
    show({});
    expect(figure('Paid in 30 days')).toBe('–');
    show({}, null);
    expect(figure('Paid in 30 days')).toBe('0 USDC, 0 calls');
    show({}, { executions: 1, paid_usdc: 1_250_000n } as TotalFigures);
    expect(figure('Paid in 30 days')).toBe('1.25 USDC, 1 call');
});

test('what is left today stands beside what is left of all', () => {
    show({});
    const today = screen.getByRole('meter', { name: 'Spent today with ci' });
    expect(today.getAttribute('aria-valuetext')).toBe('0.03 of 0.10 USDC spent today (UTC)');
    expect(screen.getByText('0.07 left')).toBeTruthy();
    expect(screen.getByRole('meter', { name: 'Spent with ci' }).getAttribute('aria-valuetext')).toBe(
        '0.01 of 5 USDC spent',
    );
    expect([figure('Limit per day'), figure('Calls left by approval')]).toEqual(['0.10 USDC', 'At least 12']);
});

test('a key without a limit for a day has no meter of the day', () => {
    show({ daily_cap_usdc: null, spent_today_usdc: 0n, calls_left_by_approval: null });
    expect(screen.queryByRole('meter', { name: /today/ })).toBeNull();
    expect([figure('Limit per day'), figure('Calls left by approval')]).toEqual(['No limit', '–']);
});

test('before the signature the limit of a day is said if there is one', () => {
    const funds: Funds = {
        grants: [],
        hasAccount: true,
        holding: 1_000_000n,
        approved: 0n,
        otherDelegate: null,
        now: 1_800_000_000n,
    };
    const costs = { lamports: 1n, grantRent: 1n, accountRent: 1n };
    const limits = { perCallCap: 10_000n, totalCap: 500_000n, dailyCap: 0n, expiry: { after: 60n }, agents: [] };
    const text = (dailyCap: bigint): string => {
        cleanup();
        const page = <Effects funds={funds} costs={costs} limits={{ ...limits, dailyCap }} sessionKey="" />;
        return render(page).container.textContent;
    };
    expect(text(100_000n)).toContain('up to 0.01 USDC for one call, 0.10 USDC in one day (UTC) and 0.50 USDC in total');
    expect(text(0n)).toContain('up to 0.01 USDC for one call and 0.50 USDC in total');
});
