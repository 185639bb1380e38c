// Where bars, lines and dates of a plot stand, for any values, and which days a window has.

import { array, assert, bigInt, constantFrom, integer, option, property } from 'fast-check';
import { expect, test } from 'vitest';

import { MAX_USDC } from '../../src/shared/money';
import { layoutOf } from '../../src/shared/plot/layout';
import type { Drawn, Measure } from '../../src/shared/plot/measure';
import { drawnOf, lengthsOf, windowOf } from '../../src/shared/plot/window';
import { dayNumber, dayOf, dayText, longDay, shortDay } from '../../src/shared/time/days';

const NOW = new Date('2026-11-23T12:00:00Z');
const SIZE = { width: 360, height: 200 };
const dayBefore = (days: number): string => dayText(dayOf(NOW) - days);

type Day = { day: string; completed: bigint; failed: bigint };

const BARS: Measure<Day> = {
    name: 'Executions',
    kind: 'bars',
    series: [
        { name: 'Completed', tone: 'accent', of: ({ completed }) => completed },
        { name: 'Failed', tone: 'bad', of: ({ failed }) => failed },
    ],
    format: String,
};
const LINES: Measure<Day> = { ...BARS, kind: 'lines' };

const amount = bigInt(0n, MAX_USDC);
const pair = array(amount, { minLength: 2, maxLength: 2 });
/** Each entry is a day, `null` a day without data. */
const days = array(option(pair), { minLength: 1, maxLength: 90 }).map((values) =>
    values.flatMap((value, age): Day[] =>
        value === null ? [] : [{ day: dayBefore(age), completed: value[0] ?? 0n, failed: value[1] ?? 0n }],
    ),
);

const drawn = (some: readonly Day[], length: number, measure = BARS): Drawn =>
    drawnOf(measure, some, length, NOW, true);

test('everything of a plot stands within it, whatever the values are', () => {
    assert(
        property(
            days,
            constantFrom(7, 30, 90),
            constantFrom(BARS, LINES),
            integer({ min: 200, max: 1400 }),
            (some, length, measure, width) => {
                const layout = layoutOf(drawn(some, length, measure), { width, height: SIZE.height }, String);
                const boxes = [...layout.bars.flat(), ...layout.bands];
                for (const { x, y, width: wide, height } of boxes) {
                    expect(Math.min(x, wide, height)).toBeGreaterThanOrEqual(0);
                    // Two least heights may stand on a bar of the whole height.
                    expect(y).toBeGreaterThanOrEqual(0);
                    expect(x + wide).toBeLessThanOrEqual(width + 0.01);
                    expect(y + height).toBeLessThanOrEqual(SIZE.height);
                }
                const points = [
                    ...layout.lines.flatMap((line) => line.points),
                    ...layout.dashes,
                    ...layout.ticks.map(({ y }) => ({ x: 0, y })),
                ];
                for (const { x, y } of points) {
                    expect(x >= 0 && x <= width).toBe(true);
                    expect(y >= 0 && y <= SIZE.height).toBe(true);
                }
                expect(layout.ticks.length).toBeGreaterThan(0);
            },
        ),
    );
});

test('failed stand on completed, and the stack is as high as their sum', () => {
    const some = [
        { day: dayBefore(1), completed: 30n, failed: 10n },
        { day: dayBefore(0), completed: 40n, failed: 0n },
    ];
    const { bars, ticks } = layoutOf(drawn(some, 7), SIZE, String);
    const [completed = [], failed = []] = bars;
    expect(failed).toHaveLength(1);
    expect((failed[0]?.y ?? 0) + (failed[0]?.height ?? 0)).toBeCloseTo(completed[0]?.y ?? -1);
    expect(failed[0]?.y).toBeCloseTo(completed[1]?.y ?? -1);
    expect(completed[0]?.height).toBeCloseTo(3 * (failed[0]?.height ?? 0));
    expect(ticks.map(({ value }) => value)).toEqual([0n, 10n, 20n, 30n, 40n]);
});

test('the smallest amount next to the largest is still seen', () => {
    const some = [
        { day: dayBefore(1), completed: MAX_USDC, failed: 0n },
        { day: dayBefore(0), completed: 1n, failed: 0n },
    ];
    expect(layoutOf(drawn(some, 7), SIZE, String).bars[0]?.[1]?.height).toBe(2);
});

test('a day without data is a gap: no bar, and the line breaks', () => {
    const some = [4, 3, 1, 0].map((age) => ({ day: dayBefore(age), completed: 50n, failed: 500n }));
    expect(layoutOf(drawn(some, 7), SIZE, String).bars[0]).toHaveLength(4);
    const [median] = layoutOf(drawn(some, 7, LINES), SIZE, String).lines;
    expect(median?.points).toHaveLength(4);
    expect(median?.path.match(/M/g)).toHaveLength(2);
});

test('times stand on powers of ten', () => {
    const some = [{ day: dayBefore(0), completed: 40n, failed: 9_000n }];
    const { ticks } = layoutOf(drawn(some, 7, LINES), SIZE, String);
    expect(ticks.map(({ value }) => value)).toEqual([10n, 100n, 1_000n, 10_000n]);
    const [between] = ticks.map(({ y }, index) => y - (ticks[index + 1]?.y ?? 0));
    expect(between).toBeCloseTo((ticks[1]?.y ?? 0) - (ticks[2]?.y ?? 0));
});

test('a plot without any value has a scale, and no bar', () => {
    for (const measure of [BARS, LINES]) {
        const { ticks, bars, lines } = layoutOf(drawn([], 30, measure), SIZE, String);
        expect(ticks[0]?.value).toBe(measure === BARS ? 0n : 1n);
        expect([...bars.flat(), ...lines.flatMap(({ points }) => points)]).toEqual([]);
    }
});

test('the last date is today, and dates do not touch', () => {
    for (const length of [7, 30, 90]) {
        const { dates } = layoutOf(drawn([], length), SIZE, String);
        expect(dates.at(-1)?.text).toBe('23 Nov');
        dates.slice(1).forEach(({ x, anchor }, index) => {
            const start = anchor === 'end' ? x - 40 : x - 20;
            expect(start - ((dates[index]?.x ?? 0) + 20)).toBeGreaterThan(0);
        });
    }
});

test('a pointer at any place finds the nearest day', () => {
    const { dayAt, bands } = layoutOf(drawn([], 7), SIZE, String);
    bands.forEach(({ x, width }, index) => expect(dayAt(x + width / 2)).toBe(index));
    expect([dayAt(-50), dayAt(10_000)]).toEqual([0, 6]);
});

test('a window ends today, and the window before ends the day before its first', () => {
    const some = [14, 13, 7, 6, 0, -1].map((age) => ({ day: dayBefore(age) }));
    const [now, before] = [windowOf(some, 7, NOW), windowOf(some, 7, NOW, 1)];
    expect([now.names[0], now.names.at(-1)]).toEqual(['2026-11-17', '2026-11-23']);
    expect([before.names[0], before.names.at(-1)]).toEqual(['2026-11-10', '2026-11-16']);
    expect(now.days.filter((day) => day !== null).map(({ day }) => day)).toEqual([dayBefore(6), dayBefore(0)]);
    expect(before.days.filter((day) => day !== null).map(({ day }) => day)).toEqual([dayBefore(13), dayBefore(7)]);
});

test('the window before has the sum of bars, and the first of lines', () => {
    const some = [{ day: dayBefore(7), completed: 3n, failed: 2n }];
    expect(drawn(some, 7).before).toEqual([null, null, null, null, null, null, 5n]);
    expect(drawn(some, 7, LINES).before?.at(-1)).toBe(3n);
    expect(drawnOf(BARS, some, 7, NOW, false).before).toBe(null);
});

test('only windows that the data fills can be chosen', () => {
    expect([lengthsOf(30), lengthsOf(180), lengthsOf(5), lengthsOf(0)]).toEqual([[7, 30], [7, 30, 90], [5], [1]]);
});

test('a day is a number, a date and a text', () => {
    expect(dayText(dayNumber('2026-02-28') + 1)).toBe('2026-03-01');
    expect([shortDay('2026-11-03'), longDay('2026-11-23')]).toEqual(['3 Nov', 'Mon, 23 Nov 2026']);
    expect(shortDay('nonsense')).toBe('nonsense');
});
