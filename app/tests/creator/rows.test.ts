// The list of a creator's agents: the chain's figures win, the service's words are added, and a name is checked as the
// program does.

import { expect, test } from 'vitest';

import { StoredAgentStatus } from '../../src/chain/stored';
import { displayNameProblem } from '../../src/features/creator/displayName';
import type { Wallet, WalletAgent } from '../../src/features/creator/query';
import { stateOf } from '../../src/features/creator/reasons';
import { rowsOf, sumsOf } from '../../src/features/creator/rows';
import type { OwnListings } from '../../src/chain/listing';

const TIERS = [{ maxPrice: 2n ** 64n - 1n, collateral: 10n }];

const listed = (address: string, change: object = {}) => ({
    address,
    listing: {
        status: StoredAgentStatus.Active,
        price: 5n,
        minCover: 1,
        collateral: 10n,
        slashedTotal: 0n,
        totalExecutions: 4n,
        successfulExecutions: 3n,
        completedExecutions: 4n,
        openExecutions: 1,
        openDisputes: 0,
        createdAtUnixS: 100n,
        suspended: 0,
        ...change,
    },
});

const chain = (...some: ReturnType<typeof listed>[]) =>
    ({ listed: some, tiers: TIERS, now: 0 }) as unknown as OwnListings;

const known = (agentId: string, change: Partial<WalletAgent> = {}): WalletAgent => ({
    agent_id: agentId,
    name: `name of ${agentId}`,
    reason: null,
    status: 'active',
    suspended: false,
    price_per_call_usdc: 1n,
    total_executions: 1,
    success_rate: 1,
    trust_usdc: 0n,
    collateral_usdc: 7n,
    earned_usdc: 0n,
    open_executions: 0,
    open_disputes: 0,
    created_at: '2026-11-23T00:00:00Z',
    ...change,
});

const wallet = (...agents: WalletAgent[]) => ({ agents }) as unknown as Wallet;

test('figures are those of the chain, names and reasons those of the service', () => {
    const reason = { code: 'document_pending', message: 'soon' } as const;
    const [row] = rowsOf(chain(listed('A')), wallet(known('A', { reason, collateral_usdc: 99n })));
    expect(row).toMatchObject({
        name: 'name of A',
        reason,
        collateral: 10n,
        price: 5n,
        successRate: 0.75,
        openExecutions: 1,
        required: 10n,
    });
});

test('an agent that the service does not name is listed all the same, and a closed one is not', () => {
    const rows = rowsOf(chain(listed('A')), wallet(known('closed meanwhile')));
    expect(rows.map(({ agentId, name, reason }) => ({ agentId, name, reason }))).toEqual([
        { agentId: 'A', name: null, reason: undefined },
    ]);
});

test('earnings are shown when the service says them, and nothing is claimed otherwise', () => {
    const of = (agent: WalletAgent | null, change: object = {}) =>
        rowsOf(chain(listed('A', change)), wallet(...(agent ? [agent] : [])))[0]?.earned;
    expect(of(known('A', { earned_usdc: 42n }))).toBe(42n);
    expect(of(null)).toBe(null);
    expect(of(known('A'), { completedExecutions: 0n })).toBe(0n);
});

test('active agents come first, then paused ones, then the newest', () => {
    const rows = rowsOf(
        chain(
            listed('delisted', { status: StoredAgentStatus.Delisted, createdAtUnixS: 900n }),
            listed('paused', { status: StoredAgentStatus.Paused }),
            listed('older'),
            listed('newer', { createdAtUnixS: 200n }),
        ),
        undefined,
    );
    expect(rows.map(({ agentId }) => agentId)).toEqual(['newer', 'older', 'paused', 'delisted']);
    expect(sumsOf(rows)).toEqual({ collateral: 40n, openExecutions: 4, openDisputes: 0 });
});

test('without a node the service alone fills the list', () => {
    const [row] = rowsOf(null, wallet(known('A')));
    expect(row).toMatchObject({ agentId: 'A', collateral: 7n, price: 1n, required: null });
});

test.each([
    ['paused', null, 'Paused'],
    ['active', { code: 'paused', message: '' }, 'Active'],
    ['active', undefined, 'Active'],
    ['active', { code: 'document_invalid', message: 'bad' }, 'Hidden'],
    ['active', { code: 'document_pending', message: 'soon' }, 'Not shown yet'],
    ['delisted', { code: 'document_invalid', message: 'bad' }, 'Delisted'],
] as const)('an agent that is %s by the chain, with the reason %j, is shown as %s', (status, reason, badge) => {
    expect(stateOf(status, reason, false).badge).toBe(badge);
});

test('a suspended agent is said to be suspended and by whom it is resumed, whatever else holds', () => {
    for (const status of ['active', 'paused'] as const) {
        const state = stateOf(status, { code: 'document_invalid', message: 'bad' }, true);
        expect(state).toMatchObject({ badge: 'Suspended', message: null });
        expect(state.text).toContain('Only the admin can resume it.');
    }
    expect(stateOf('delisted', null, true).badge).toBe('Delisted');
    expect(rowsOf(chain(listed('A', { suspended: 1 })), undefined)[0]?.isSuspended).toBe(true);
    expect(rowsOf(null, wallet(known('A', { suspended: true })))[0]?.isSuspended).toBe(true);
    expect(rowsOf(chain(listed('A')), wallet(known('A', { suspended: true })))[0]?.isSuspended).toBe(false);
});

test.each([
    'Ada Lovelace',
    'Ä字か한ع',
    '★🚀 & co. (x)',
    'a'.repeat(32),
    '字'.repeat(10),
    'Jose\u0301',
    'Vie\u0323\u0302t',
    'हिन्दी',
    'ก็ได้',
    'עִבְרִית',
])('the name %s is taken', (name) => {
    expect(displayNameProblem(name)).toBeUndefined();
});

test.each([
    '',
    ' ',
    ' Ada',
    'Ada ',
    'a'.repeat(33),
    '字'.repeat(11),
    'a\u200bb',
    'a\u00a0b',
    '\u202eabc',
    'a\nb',
    '\ud800',
    '❤\ufe0f',
    '\u{e0041}',
    'e\u0301\u0302\u0303',
    'ก็็็',
    '\u0301e',
])('the name %j is refused with a reason', (name) => {
    expect(displayNameProblem(name)).toBeTruthy();
});
