// What needs the owner of a wallet: each case alone, and nothing of what is in order.

import { expect, test } from 'vitest';

import { walletDays } from '../../src/features/overview/days';
import { type Facts, type Need, needsOf } from '../../src/features/overview/needs';
import type { Totals, TotalsGroup } from '../../src/shared/api/totals';

const NOW_S = Date.parse('2026-11-28T12:00:00Z') / 1_000;
const iso = (hours: number): string => new Date((NOW_S + hours * 3_600) * 1_000).toISOString();
const WALLET = 'UD9QB5DAiQ8Z2gsLAC6kaUma5pJWyjqL3XQZ6YM76ha';
const OTHER = 'AS6jTZLxnQqWkAA4vv1NNsVCVecPMi7XrKngmkgK6xAM';

const QUIET: Facts = {
    wallet: WALLET,
    nowS: NOW_S,
    resolver: OTHER,
    disputes: [],
    service: undefined,
    listings: undefined,
    keys: [],
    funds: undefined,
    lastDay: [],
    draft: null,
};

const needs = (facts: object): Need[] => needsOf({ ...QUIET, ...facts });

const dispute = (change: object = {}): object => ({
    dispute: 'D',
    agent_name: 'text-stats',
    status: 'open',
    creator: WALLET,
    caller: OTHER,
    answered_at: null,
    upholdable_from: iso(3),
    respond_by: iso(60),
    expires_at: iso(600),
    ...change,
});

const key = (change: object = {}): object => ({
    session_public_key: 'K',
    name: 'nightly',
    state: 'active',
    left_usdc: 500_000n,
    total_cap_usdc: 5_000_000n,
    per_call_cap_usdc: 100_000n,
    ...change,
});

const group = (change: Partial<TotalsGroup>): TotalsGroup => ({
    day: null,
    session_public_key: null,
    agent_id: null,
    agent_name: null,
    status: null,
    executions: 0,
    completed: 0,
    failed: 0,
    disputed: 0,
    paid_usdc: 0n,
    creator_usdc: 0n,
    platform_usdc: 0n,
    refunded_usdc: 0n,
    compensation_usdc: 0n,
    ...change,
});

test('a wallet in order needs nothing, and neither does one of which nothing is known yet', () => {
    expect(needs({})).toEqual([]);
    expect(needs({ disputes: undefined, keys: undefined, lastDay: undefined, resolver: undefined })).toEqual([]);
});

test('a creator answers a dispute until it is upheld, with its clock, and only once', () => {
    expect(needs({ disputes: [dispute()] })).toMatchObject([
        { kind: 'bad', subject: 'text-stats', action: 'Answer', until: iso(3), to: '/disputes/D' },
    ]);
    const [late] = needs({ disputes: [dispute({ upholdable_from: iso(-1) })] });
    expect(late).toMatchObject({ action: 'Answer' });
    expect(late?.until).toBeUndefined();
    expect(needs({ disputes: [dispute({ answered_at: iso(-1) })] })).toEqual([]);
    expect(needs({ disputes: [dispute({ status: 'upheld' })] })).toEqual([]);
    expect(needs({ disputes: [dispute({ creator: OTHER, caller: WALLET })] })).toEqual([]);
});

test('a resolver decides what can be upheld, and what is late comes first', () => {
    const role = { resolver: WALLET };
    const foreign = { creator: OTHER };
    expect(needs({ ...role, disputes: [dispute(foreign)] })).toEqual([]);
    const answered = dispute({ ...foreign, dispute: 'A', answered_at: iso(-1) });
    const late = dispute({ ...foreign, dispute: 'L', answered_at: iso(-100), respond_by: iso(-1) });
    expect(needs({ ...role, disputes: [answered, late] }).map(({ to, kind }) => [to, kind])).toEqual([
        ['/disputes/L', 'bad'],
        ['/disputes/A', 'warn'],
    ]);
});

test('calls that nobody settled in time come back, as one line with their sum', () => {
    const refundable = [{ amount_usdc: 50_000n }, { amount_usdc: 1n }];
    const [need] = needs({ service: { agents: [], refundable } });
    expect(need?.text).toBe('2 calls ended without a result in time. 0.050001 USDC can come back.');
    expect(needs({ service: { agents: [], refundable: null } })).toEqual([]);
});

test('a key is near its cap below a tenth, or if it cannot pay for one more call', () => {
    expect(needs({ keys: [key()] })).toEqual([]);
    expect(needs({ keys: [key({ left_usdc: 499_999n })] })).toMatchObject([{ subject: 'nightly', to: '/keys' }]);
    expect(needs({ keys: [key({ per_call_cap_usdc: 600_000n })] })).toHaveLength(1);
    expect(needs({ keys: [key({ left_usdc: 0n, state: 'revoked' })] })).toEqual([]);
    expect(needs({ keys: [key({ left_usdc: null, total_cap_usdc: null })] })).toEqual([]);
});

const grant = { sessionKey: 'K', revoked: 0, expiresAtUnixS: 9n, totalCap: 100n, spent: 0n, perCallCap: 10n };

test('an approval below what keys may spend is said with the amount, and one for few calls with their number', () => {
    const funds = (approved: bigint): object => ({ funds: { grants: [grant], approved, now: 1n } });
    expect(needs(funds(40n))[0]?.text).toBe('The approval of your API keys is 0.00006 USDC below their limits.');
    expect(needs(funds(200n))).toEqual([]);
    const spent = { ...grant, spent: 70n };
    expect(needs({ funds: { grants: [spent], approved: 50n, now: 1n } })[0]?.text).toContain('enough for 5 more calls');
});

test('an agent needs collateral, a document that can be used, and a service that answers', () => {
    const listing = { status: 0, price: 50_000n, minCover: 1, collateral: 10n, disputedAmount: 0n };
    const tiers = [{ maxPrice: 100_000n, collateral: 10_000_000n }];
    const short = { listings: { listed: [{ address: OTHER, listing }], tiers, now: 0 } };
    expect(needs(short)).toMatchObject([{ action: 'Add collateral', to: `/creator/agents/${OTHER}?tab=collateral` }]);
    // What a dispute claims does not cover calls.
    const claimed = { ...listing, collateral: 10_000_000n, disputedAmount: 1n };
    expect(needs({ listings: { ...short.listings, listed: [{ address: OTHER, listing: claimed }] } })).toHaveLength(1);
    const agent = {
        agent_id: OTHER,
        name: 'mine',
        status: 'active',
        suspended: false,
        reason: { code: 'document_invalid' },
    };
    expect(needs({ service: { agents: [agent] } })).toMatchObject([{ subject: 'mine', action: 'See why' }]);
    expect(needs({ service: { agents: [{ ...agent, status: 'delisted' }] } })).toEqual([]);
    expect(needs({ service: { agents: [{ ...agent, reason: null, suspended: true }] } })).toHaveLength(1);

    const lastDay = (completed: number, failed: number): object => ({
        lastDay: [group({ agent_id: OTHER, agent_name: 'mine', completed, failed })],
    });
    expect(needs(lastDay(12, 3))).toMatchObject([{ text: '3 of 15 calls failed in the last 24 hours.' }]);
    expect([needs(lastDay(13, 3)), needs(lastDay(0, 2))]).toEqual([[], []]);
});

test('a draft that was begun and not listed is continued', () => {
    expect(needs({ draft: 'my agent' })).toMatchObject([{ subject: 'my agent', to: '/creator/new' }]);
    expect(needs({ draft: '' })).toMatchObject([{ subject: 'New agent' }]);
});

test('days of spending and of earning become one row each, in their order', () => {
    const totals = (groups: TotalsGroup[]): Totals => ({
        from: '',
        to: '',
        role: 'caller',
        by: 'day',
        groups,
        total: group({}),
        truncated: false,
    });
    const spent = totals([group({ day: '2026-11-27', paid_usdc: 5n }), group({ day: '2026-11-28', paid_usdc: 6n })]);
    const earned = totals([group({ day: '2026-11-20', creator_usdc: 7n }), group({ day: '2026-11-28' })]);
    expect(
        walletDays(spent, earned).map(({ day, ...parts }) => [day, parts.spent?.paid_usdc, parts.earned?.creator_usdc]),
    ).toEqual([
        ['2026-11-20', undefined, 7n],
        ['2026-11-27', 5n, undefined],
        ['2026-11-28', 6n, 0n],
    ]);
    expect(walletDays(null, null)).toEqual([]);
});
