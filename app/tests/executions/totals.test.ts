// The totals above the list: their period, and the figures of one status.

import { expect, test } from 'vitest';

import { isRange, startOf } from '../../src/features/executions/ranges';
import { figuresOf, isLonger, periodOf, successOf } from '../../src/features/executions/totals';
import type { Totals } from '../../src/shared/api/totals';

const NOW = new Date('2026-11-28T17:00:00Z');

/** Of a moment, in the reader's time zone. */
const local = (moment = ''): number[] => {
    const date = new Date(moment);
    return [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes()];
};

test('a period begins at midnight of the reader', () => {
    const noon = new Date(2026, 10, 28, 12);
    expect(local(startOf('today', noon))).toEqual([2026, 11, 28, 0, 0]);
    expect(local(startOf('week', noon))).toEqual([2026, 11, 22, 0, 0]);
    expect(local(startOf('days30', noon))).toEqual([2026, 10, 30, 0, 0]);
    expect(local(startOf('month', noon))).toEqual([2026, 11, 1, 0, 0]);
    expect(startOf('all', noon)).toBeUndefined();
    expect(local(startOf('days30', new Date(2027, 0, 5)))).toEqual([2026, 12, 7, 0, 0]);
});

test('a chosen period is found again in the URL, and an own end is none of them', () => {
    const from = startOf('today', NOW) ?? '';
    expect(isRange({ from }, 'today', NOW)).toBe(true);
    expect(isRange({ from, to: '2026-11-28T23:00:00Z' }, 'today', NOW)).toBe(false);
    expect(isRange({}, 'all', NOW)).toBe(true);
    expect(isRange({ from }, 'all', NOW)).toBe(false);
});

test('the service is asked for a year at most', () => {
    const now = NOW.getTime();
    expect(periodOf({ from: '2026-11-01T00:00:00Z' }, now)).toEqual({ from: '2026-11-01T00:00:00Z' });
    expect(periodOf({}, now)).toEqual({ from: '2025-11-27T17:01:00Z' });
    expect(periodOf({ from: '2020-01-01T00:00:00Z', to: '2022-01-01T00:00:00Z' }, now)).toEqual({
        from: '2020-12-31T00:01:00Z',
        to: '2022-01-01T00:00:00Z',
    });
    expect([isLonger({}, now), isLonger({ from: '2026-01-01T00:00:00Z' }, now)]).toEqual([true, false]);
    // An end in the future is now.
    expect(periodOf({ to: '2030-01-01T00:00:00Z' }, now).from).toBe('2025-11-27T17:01:00Z');
});

test('a status without executions has nothing, and success is of those that ended', () => {
    const figures = { executions: 5, completed: 2, failed: 1, disputed: 1 };
    const amounts = { paid_usdc: 3n, creator_usdc: 2n, platform_usdc: 1n, refunded_usdc: 1n, compensation_usdc: 0n };
    const keys = { day: null, session_public_key: null, agent_id: null, agent_name: null, status: null };
    const group = { ...keys, ...figures, ...amounts };
    const totals: Totals = {
        from: '',
        to: '',
        groups: [{ ...group, status: 'completed' }],
        role: 'caller',
        by: 'status',
        total: group,
        truncated: false,
    };
    expect(figuresOf(totals, undefined).paid_usdc).toBe(3n);
    expect(figuresOf(totals, 'completed').executions).toBe(5);
    expect(figuresOf(totals, 'failed')).toMatchObject({ executions: 0, paid_usdc: 0n });
    expect(successOf(figuresOf(totals, undefined))).toBe('75%');
    expect(successOf(figuresOf(totals, 'failed'))).toBe('–');
});
