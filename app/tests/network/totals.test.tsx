// @vitest-environment happy-dom
// Totals by day: the geometry of the bars, and what the section shows of an answer.

import { cleanup, render, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { array, assert, bigInt, property } from 'fast-check';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';

import { barsOf, endsOf, roundUp } from '../../src/features/network/totals/bars';
import { Days } from '../../src/features/network/totals/TotalsSection';

const NOW = new Date('2026-11-23T12:00:00Z');
const SIZE = { width: 300, height: 180 };
const dayBefore = (days: number): string => new Date(NOW.getTime() - days * 86_400_000).toISOString().slice(0, 10);

beforeAll(() => {
    vi.stubGlobal(
        'ResizeObserver',
        class {
            observe(): void {}
            disconnect(): void {}
        },
    );
});
afterEach(cleanup);

test('bars stay within the plot, one for each day with a value', () => {
    assert(
        property(array(bigInt(0n, 2n ** 64n), { maxLength: 30 }), (values) => {
            const days = values.map((value, index) => ({ day: dayBefore(index), value }));
            const { bars, lines } = barsOf(days, 30, NOW, SIZE);
            expect(bars.length).toBe(values.filter((value) => value > 0n).length);
            for (const { x, y, width, height } of bars) {
                expect(Math.min(x, y, width, height)).toBeGreaterThanOrEqual(0);
                expect(x + width).toBeLessThanOrEqual(SIZE.width);
                expect(y + height).toBeLessThanOrEqual(SIZE.height);
            }
            expect(lines.every(({ y }) => y > 0 && y < SIZE.height)).toBe(true);
        }),
    );
});

test('today is at the right end, and days outside of the window are left out', () => {
    const { bars } = barsOf(
        [
            { day: dayBefore(30), value: 1n },
            { day: dayBefore(29), value: 1n },
            { day: dayBefore(0), value: 1n },
        ],
        30,
        NOW,
        SIZE,
    );
    expect(bars.map(({ day }) => day)).toEqual([dayBefore(29), dayBefore(0)]);
    expect(bars[0]?.x).toBeLessThan(10);
    expect(bars[1]?.x).toBeGreaterThan(290);
    expect(endsOf(30, NOW)).toEqual(['2026-10-25', '2026-11-23']);
});

test('a higher value has a higher bar', () => {
    const { bars } = barsOf(
        [
            { day: dayBefore(1), value: 10n },
            { day: dayBefore(0), value: 20n },
        ],
        30,
        NOW,
        SIZE,
    );
    expect(bars[1]?.height).toBeCloseTo(2 * (bars[0]?.height ?? 0));
});

test('the scale ends at a round value', () => {
    expect([1n, 3n, 7n, 10n, 11n, 199n, 2_000_001n].map(roundUp)).toEqual([1n, 5n, 10n, 10n, 20n, 200n, 5_000_000n]);
});

const day = (name: string, completed: number, volume: bigint, fees: bigint) => ({
    day: name,
    completed_executions: completed,
    failed_executions: 1,
    disputed_executions: 0,
    volume_usdc: volume,
    fees_usdc: fees,
});

test('sums are exact to the base unit, and each day is in the table', async () => {
    render(
        <Days
            history={{
                window_days: 30,
                days: [day('2026-11-20', 2, 20_000n, 200n), day('2026-11-22', 3, 9_007_199_254_740_993n, 1n)],
            }}
        />,
    );
    const paid = screen.getAllByText('Paid to creators').find((found) => found.tagName === 'DT');
    expect(paid?.nextElementSibling?.textContent).toBe('9\u202f007\u202f199\u202f254.760792 USDC');
    await userEvent.click(screen.getByText('As a table'));
    const rows = within(screen.getByRole('table', { name: 'Totals of each day' })).getAllByRole('row');
    expect(rows.map((row) => row.textContent)).toHaveLength(3);
    expect(rows[1]?.textContent).toContain('2026-11-22');
});

test('another measure is chosen by its name', async () => {
    render(
        <Days history={{ window_days: 30, days: [day(new Date().toISOString().slice(0, 10), 2, 20_000n, 200n)] }} />,
    );
    await userEvent.selectOptions(screen.getByLabelText('Shown for each day'), 'Fees');
    expect(screen.getAllByText('0.0002 USDC').some((found) => found.tagName === 'text')).toBe(true);
});

test('a market without executions says so', () => {
    render(<Days history={{ window_days: 30, days: [] }} />);
    expect(screen.getByText('No execution ended in these days.')).toBeTruthy();
});
