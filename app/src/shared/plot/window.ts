// The days that a plot shows: a window that ends with today, and the same number of days before it.

import { dayNumber, dayOf, dayText } from '../time/days';
import type { Drawn, Measure, PlotDay } from './measure';

/** Lengths of a window that a reader can choose. */
export const LENGTHS = [7, 30, 90] as const;

/** The lengths that the known days fill; the length of all of them if they are few. */
export function lengthsOf(knownDays: number): readonly number[] {
    const fitting = LENGTHS.filter((length) => length <= knownDays);
    return fitting.length > 0 ? fitting : [Math.max(knownDays, 1)];
}

/** The days of a window, oldest first; a day that is not known is `null`. `back`: how many windows before today's. */
export function windowOf<Day extends PlotDay>(
    days: readonly Day[],
    length: number,
    now: Date,
    back = 0,
): { readonly names: readonly string[]; readonly days: readonly (Day | null)[] } {
    const byNumber = new Map(days.map((day) => [dayNumber(day.day), day]));
    const first = dayOf(now) - length * (back + 1) + 1;
    const numbers = Array.from({ length }, (_, index) => first + index);
    return { names: numbers.map(dayText), days: numbers.map((number) => byNumber.get(number) ?? null) };
}

/** The sum of some values; `null` if there is none. */
export const sumOf = (values: readonly (bigint | null)[]): bigint | null =>
    values.reduce((sum, value) => (value === null ? sum : (sum ?? 0n) + value), null);

/** What is drawn of a measure. `withBefore`: the window before is known and wanted. */
export function drawnOf<Day extends PlotDay>(
    measure: Measure<Day>,
    days: readonly Day[],
    length: number,
    now: Date,
    withBefore: boolean,
): Drawn {
    const { names, days: shown } = windowOf(days, length, now);
    const { kind, series } = measure;
    // Bars add up, so the day before is one sum. Lines do not; the first of them is the one to compare.
    const compared = kind === 'bars' ? series : series.slice(0, 1);
    const before = withBefore
        ? windowOf(days, length, now, 1).days.map((day) => day && sumOf(compared.map(({ of }) => of(day))))
        : null;
    return {
        kind,
        days: names,
        series: series.map(({ name, tone, of }) => ({ name, tone, values: shown.map((day) => day && of(day)) })),
        before,
    };
}
