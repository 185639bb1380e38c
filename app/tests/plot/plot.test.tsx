// @vitest-environment happy-dom
// What a reader of a plot can choose and learn: window, measure, comparison, one day by keys or pointer, and the table.

import { cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';

import type { Measure } from '../../src/shared/plot/measure';
import { Plot } from '../../src/shared/plot/Plot';

const NOW = new Date('2026-11-23T12:00:00Z');

type Day = { day: string; completed: bigint; failed: bigint };

const measureOf = (name: string, first = 'Completed'): Measure<Day> => ({
    name,
    kind: 'bars',
    series: [
        { name: first, tone: 'accent', of: ({ completed }) => completed },
        { name: 'Failed', tone: 'bad', of: ({ failed }) => failed },
    ],
    format: String,
});

const DAYS: Day[] = [
    { day: '2026-11-12', completed: 6n, failed: 1n },
    { day: '2026-11-20', completed: 2n, failed: 0n },
    { day: '2026-11-22', completed: 5n, failed: 3n },
];

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

const show = (measures: readonly [Measure<Day>, ...Measure<Day>[]] = [measureOf('Executions')], knownDays = 30) =>
    render(
        <Plot
            title="Calls"
            days={DAYS}
            knownDays={knownDays}
            measures={measures}
            nothing="none"
            columns={[{ name: 'Completed', cell: ({ completed }) => String(completed) }]}
            tableCaption="Calls by day"
            now={NOW}
        />,
    );

const slider = () => screen.findByRole('slider', { name: /^Calls/ });
const says = async (): Promise<string> => (await slider()).getAttribute('aria-valuetext') ?? '';

test('each day says its values to the keys of a slider, and a day without data says so', async () => {
    show();
    const keys = await slider();
    expect(await says()).toBe('Mon, 23 Nov 2026: Completed: none, Failed: none');
    fireEvent.change(keys, { target: { value: '28' } });
    expect(await says()).toBe('Sun, 22 Nov 2026: Completed: 5, Failed: 3');
    // What is said is seen.
    expect(screen.getByText('Sun, 22 Nov 2026')).toBeTruthy();
    fireEvent.keyDown(keys, { key: 'Escape' });
    expect(screen.queryByText('Sun, 22 Nov 2026')).toBeNull();
});

test('a pointer shows the day below it until it leaves', async () => {
    const { container } = show();
    const area = (await slider()).parentElement!;
    fireEvent.pointerMove(area, { clientX: 5_000 });
    expect(screen.getByText('Mon, 23 Nov 2026')).toBeTruthy();
    fireEvent.pointerLeave(area, { pointerType: 'mouse' });
    expect(screen.queryByText('Mon, 23 Nov 2026')).toBeNull();
    expect(container.querySelectorAll('rect').length).toBeGreaterThan(0);
});

test('a shorter window has fewer days in drawing, legend and table', async () => {
    show();
    const legend = () => screen.getByText('Completed', { selector: 'figcaption *' }).closest('span')!.textContent;
    expect(legend()).toBe('Completed13');
    await userEvent.click(screen.getByRole('button', { name: '7 days' }));
    expect(legend()).toBe('Completed7');
    expect((await slider()).getAttribute('max')).toBe('6');
    const rows = within(screen.getByRole('table', { name: 'Calls by day' })).getAllByRole('row');
    expect(rows.map((row) => row.textContent)).toEqual(['Day (UTC)Completed', '2026-11-225', '2026-11-202']);
    expect(screen.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed')).toBe('true');
});

test('the days before are compared where they are known, and only there', async () => {
    show();
    expect(screen.queryByRole('checkbox')).toBeNull();
    await userEvent.click(screen.getByRole('button', { name: '7 days' }));
    await userEvent.click(screen.getByRole('checkbox', { name: 'Compare with the 7 days before' }));
    expect(screen.getByText('7 days before', { selector: 'figcaption *' }).textContent).toBe('7 days before7');
    fireEvent.change(await slider(), { target: { value: '2' } });
    expect(await says()).toBe('Thu, 19 Nov 2026: Completed: none, Failed: none, 7 days before: 7');
});

test('another measure is chosen by its name', async () => {
    show([measureOf('Executions'), measureOf('Others', 'Of others')]);
    await userEvent.selectOptions(screen.getByLabelText('Show'), 'Others');
    expect(await says()).toContain('Of others: none');
});

test('a hostile name is one printable line in legend, tip and words', async () => {
    const name = '<b>x</b>\u202egnp\u0000\n\u200b';
    const { container } = show([measureOf('Executions', name)]);
    fireEvent.change(await slider(), { target: { value: '28' } });
    expect(container.querySelector('b')).toBeNull();
    expect(await says()).toContain('<b>x</b>[U+202E]gnp[U+0000]');
    expect(container.textContent).not.toMatch(/[\u202e\u0000\u200b]/);
});
