// The geometry of a plot with one bar for each day. Amounts stay `bigint`; only their height on the screen is a number.

const MS_PER_DAY = 86_400_000;
const MARGIN = { left: 0, right: 0, top: 22, bottom: 20 };
/** How much of a day's room its bar takes. */
const BAR_SHARE = 0.7;

export type DayValue = { readonly day: string; readonly value: bigint };
export type Size = { readonly width: number; readonly height: number };
export type Bar = {
    readonly day: string;
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
};
export type Bars = {
    readonly bars: readonly Bar[];
    /** Horizontal lines with their values. */ readonly lines: readonly {
        readonly y: number;
        readonly value: bigint;
    }[];
};

/** `now` is in the last day. Days outside of the window and days of nothing have no bar. */
export function barsOf(days: readonly DayValue[], windowDays: number, now: Date, { width, height }: Size): Bars {
    const top = roundUp(days.reduce((most, { value }) => (value > most ? value : most), 1n));
    const [floor, room] = [height - MARGIN.bottom, height - MARGIN.top - MARGIN.bottom];
    const heightOf = (value: bigint): number => Number((value * 10_000n) / top) * (room / 10_000);
    const perDay = (width - MARGIN.left - MARGIN.right) / windowDays;
    const today = Math.floor(now.getTime() / MS_PER_DAY);
    const bars = days.flatMap(({ day, value }) => {
        const age = today - Math.floor(Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY);
        if (!(age >= 0 && age < windowDays) || value <= 0n) return [];
        // What was there is seen, however small it is.
        const barHeight = Math.max(heightOf(value), 1.5);
        const x = MARGIN.left + (windowDays - 1 - age) * perDay + (perDay * (1 - BAR_SHARE)) / 2;
        return [{ day, x, y: floor - barHeight, width: perDay * BAR_SHARE, height: barHeight }];
    });
    const values = top % 2n === 0n ? [0n, top / 2n, top] : [0n, top];
    return { bars, lines: values.map((value) => ({ value, y: floor - heightOf(value) })) };
}

/** The next of 1, 2, 5, 10, 20 … */
export function roundUp(value: bigint): bigint {
    let power = 1n;
    while (power * 10n <= value) power *= 10n;
    return [1n, 2n, 5n, 10n].map((factor) => factor * power).find((round) => round >= value) ?? value;
}

/** The first and the last day of the window. */
export function endsOf(windowDays: number, now: Date): readonly [string, string] {
    const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
    return [dayOf(now.getTime() - (windowDays - 1) * MS_PER_DAY), dayOf(now.getTime())];
}
