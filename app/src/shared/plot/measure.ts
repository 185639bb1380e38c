// What a plot shows of its days: one measure at a time, as bars on one another or as lines.

import { formatCount } from '../figures';
import { words } from './words';

export type PlotDay = { /** `2026-11-23`. */ readonly day: string };

export type Tone = 'accent' | 'bad' | 'muted';

export type Series<Day> = {
    readonly name: string;
    /** `null`: nothing was measured on that day. */
    readonly of: (day: Day) => bigint | null;
    readonly tone: Tone;
};

export type Measure<Day> = {
    readonly name: string;
    /** `bars` add up, and stand on one another. `lines` are on a logarithmic scale. */
    readonly kind: 'bars' | 'lines';
    readonly series: readonly Series<Day>[];
    readonly format: (value: bigint) => string;
};

type Ended = { readonly completed_executions: number; readonly failed_executions: number };

/** How executions ended: what failed stands on what was completed. `of`: those of a day; `null`: none are known. */
export const endings = <Day>(name: string, of: (day: Day) => Ended | null): Measure<Day> => {
    const count = (part: keyof Ended) => (day: Day) => {
        const ended = of(day);
        return ended && BigInt(ended[part]);
    };
    return {
        name,
        kind: 'bars',
        series: [
            { name: words.completed, tone: 'accent', of: count('completed_executions') },
            { name: words.failed, tone: 'bad', of: count('failed_executions') },
        ],
        format: (value) => formatCount(Number(value)),
    };
};

/** One series with its value of each day of the window. */
export type Values = {
    readonly name: string;
    readonly tone: Tone;
    /** `null`: a gap. */
    readonly values: readonly (bigint | null)[];
};

/** What is drawn: the days of a window with the values of each. */
export type Drawn = {
    readonly kind: 'bars' | 'lines';
    readonly days: readonly string[];
    readonly series: readonly Values[];
    /** The sum of a day in the window before, at the same place. */
    readonly before: readonly (bigint | null)[] | null;
};
