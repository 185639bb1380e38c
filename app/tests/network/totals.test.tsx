// @vitest-environment happy-dom
// Totals by day: what the section shows of an answer.

import { cleanup, render, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';

import { Days } from '../../src/features/network/totals/TotalsSection';
import { dayOf, dayText } from '../../src/shared/time/days';

const dayBefore = (days: number): string => dayText(dayOf(new Date()) - days);

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
                days: [day(dayBefore(3), 2, 20_000n, 200n), day(dayBefore(1), 3, 9_007_199_254_740_993n, 1n)],
            }}
        />,
    );
    const paid = screen.getAllByText('Paid to creators').find((found) => found.tagName === 'DT');
    expect(paid?.nextElementSibling?.textContent).toBe('9\u202f007\u202f199\u202f254.760792 USDC');
    await userEvent.click(screen.getByText('As a table'));
    const rows = within(screen.getByRole('table', { name: 'Totals of each day' })).getAllByRole('row');
    expect(rows.map((row) => row.textContent)).toHaveLength(3);
    expect(rows[1]?.textContent).toContain(dayBefore(1));
});

test('another measure is chosen by its name', async () => {
    render(<Days history={{ window_days: 30, days: [day(dayBefore(0), 2, 20_000n, 200n)] }} />);
    const keys = await screen.findByRole('slider');
    expect(keys.getAttribute('aria-valuetext')).toMatch(/: Completed: 2, Failed: 1$/);
    await userEvent.selectOptions(screen.getByLabelText('Show'), 'Fees');
    expect(screen.getByRole('slider').getAttribute('aria-valuetext')).toMatch(/: Fees: 0.0002 USDC$/);
});

test('a market without executions says so', () => {
    render(<Days history={{ window_days: 30, days: [] }} />);
    expect(screen.getByText('No execution ended in these days.')).toBeTruthy();
});
