// @vitest-environment happy-dom
// @vitest-environment-options {"url": "http://market.example/"}
// Earnings by day: the plot, its table, the sums, and the file, of an answer of the service.

import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { Earnings } from '../../src/features/creator/earnings/Earnings';
import { type EarningsDay, earningsCsv, sumsOfDays } from '../../src/features/creator/earnings/history';
import { makeQueryClient } from '../../src/shared/api/queries';
import { MAX_USDC, parseUsdc } from '../../src/shared/money';
import { dayOf, dayText } from '../../src/shared/time/days';

/** The client takes the function when it is made. */
const service = vi.hoisted(() => {
    const state = { answer: (): Promise<Response> => Promise.reject(new TypeError('no answer')) };
    globalThis.fetch = () => state.answer();
    return state;
});

const WALLET = 'UD9QB5DAiQ8Z2gsLAC6kaUma5pJWyjqL3XQZ6YM76ha';
const NOW = new Date('2026-11-23T12:00:00Z');

/** The plot shows the days before now. */
const [YESTERDAY = '', TODAY = ''] = [1, 0].map((age) => dayText(dayOf(new Date()) - age));

const day = (text: string, earned: bigint): EarningsDay => ({
    day: text,
    completed_executions: 3,
    failed_executions: 1,
    disputed_executions: 0,
    earned_usdc: earned,
    fees_usdc: earned / 99n,
});

/** Days in the window of 30, each once, oldest first. */
const days = fc
    .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 29 }), fc.bigInt({ min: 0n, max: MAX_USDC / 64n })), {
        selector: ([age]) => age,
    })
    .map((some) =>
        some.sort(([one], [other]) => other - one).map(([age, earned]) => day(dayText(dayOf(NOW) - age), earned)),
    );

const answer = (status: number, text: string) => async () =>
    new Response(text, { status, headers: { 'content-type': 'application/json' } });

beforeEach(() =>
    vi.stubGlobal(
        'ResizeObserver',
        class {
            observe() {}
            disconnect() {}
        },
    ),
);
afterEach(() => {
    cleanup();
    vi.unstubAllGlobals();
});

function show(next: () => Promise<Response>): void {
    service.answer = next;
    render(
        <QueryClientProvider client={makeQueryClient()}>
            <Earnings wallet={WALLET} />
        </QueryClientProvider>,
    );
}

test('the file has the exact amounts of every day, and they add up to the sums', () => {
    fc.assert(
        fc.property(days, (some) => {
            const [head, ...rows] = earningsCsv(some)
                .trimEnd()
                .split('\r\n')
                .map((row) => row.split(','));
            expect(head).toEqual([
                'day',
                'completed_executions',
                'failed_executions',
                'disputed_executions',
                'earned_usdc',
                'fees_usdc',
            ]);
            expect(rows.map(([text]) => text)).toEqual(some.map((entry) => entry.day));
            const { earned, fees, completed } = sumsOfDays(some);
            expect(rows.reduce((sum, row) => sum + parseUsdc(row[4] ?? ''), 0n)).toBe(earned);
            expect(rows.reduce((sum, row) => sum + parseUsdc(row[5] ?? ''), 0n)).toBe(fees);
            expect(completed).toBe(3 * some.length);
        }),
    );
});

test('amounts of the answer reach table and file without a rounding', async () => {
    const entry = '"completed_executions": 2, "failed_executions": 1, "disputed_executions": 1, "fees_usdc": 0.000001';
    show(
        answer(
            200,
            `{"window_days": 30, "days": [{"day": "${YESTERDAY}", ${entry}, "earned_usdc": 1234567.409931}, {"day": "${TODAY}", ${entry}, "earned_usdc": 0.1}]}`,
        ),
    );
    const table = await screen.findByRole('table', { name: /^Earnings by day/ });
    const rows = within(table)
        .getAllByRole('row')
        .slice(1)
        .map((row) =>
            within(row)
                .getAllByRole('cell')
                .map((cell) => cell.textContent),
        );
    expect(rows).toEqual([
        [TODAY, '2', '1', '1', '0.000001', '0.10'],
        [YESTERDAY, '2', '1', '1', '0.000001', '1\u202f234\u202f567.409931'],
    ]);
    expect(screen.getByRole('heading', { name: 'Earnings, last 30 days' })).toBeTruthy();

    let saved: Blob | undefined;
    vi.spyOn(URL, 'createObjectURL').mockImplementation((blob) => {
        saved = blob as Blob;
        return 'blob:x';
    });
    await userEvent.click(screen.getByRole('button', { name: 'Save as CSV' }));
    expect(await saved?.text()).toContain(`${YESTERDAY},2,1,1,1234567.409931,0.000001\r\n`);
});

test('without an execution the page says when there is something to see', async () => {
    show(answer(200, '{"window_days": 30, "days": []}'));
    expect(await screen.findByText(/No execution of your agents ended/)).toBeTruthy();
    expect(screen.queryByRole('button')).toBeNull();
});

test('a service that does not know the earnings says so, and any other error can be tried again', async () => {
    show(answer(404, '{"error": {"code": "not_found", "message": "no such path"}}'));
    expect(await screen.findByText(/does not keep earnings by day/)).toBeTruthy();
    cleanup();
    show(answer(500, '{"error": {"code": "internal", "message": "a fault"}}'));
    expect(await screen.findByRole('button', { name: 'Try again' })).toBeTruthy();
});
