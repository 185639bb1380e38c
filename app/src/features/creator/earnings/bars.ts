// The geometry of the plot of earnings: one bar for each day of the window, today at the right.

import { dayNumber, dayOf, dayText } from '../../../shared/plot/days';
import type { EarningsDay } from './history';

export type Bar = {
    readonly day: string;
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
};
export type Line = { readonly y: number; readonly amount: bigint };
export type Bars = {
    readonly bars: readonly Bar[];
    readonly lines: readonly Line[];
    readonly first: string;
    readonly last: string;
};

type Size = { readonly width: number; readonly height: number };

const MARGIN = { top: 20, bottom: 22 };
const GAP = 0.25;
/** Parts of the height, so that amounts of any size become exact numbers. */
const PARTS = 100_000n;
const LEAST_HEIGHT = 2;

export function barsOf(days: readonly EarningsDay[], windowDays: number, now: Date, { width, height }: Size): Bars {
    const today = dayOf(now);
    const oldest = today - windowDays + 1;
    const top = niceAbove(days.reduce((most, { earned_usdc: earned }) => (earned > most ? earned : most), 0n));
    const room = height - MARGIN.top - MARGIN.bottom;
    const base = height - MARGIN.bottom;
    const step = width / windowDays;
    const heightOf = (amount: bigint): number => (Number((amount * PARTS) / top) / Number(PARTS)) * room;
    const bars = days
        .map((day) => ({ ...day, place: dayNumber(day.day) - oldest }))
        .filter(({ place, earned_usdc: earned }) => place >= 0 && place < windowDays && earned > 0n)
        .map(({ day, place, earned_usdc: earned }) => {
            const tall = Math.max(heightOf(earned), LEAST_HEIGHT);
            return {
                day,
                x: round((place + GAP / 2) * step),
                width: round(step * (1 - GAP)),
                y: round(base - tall),
                height: round(tall),
            };
        });
    const lines = [0n, top / 2n, top].map((amount) => ({ amount, y: round(base - heightOf(amount)) }));
    return { bars, lines, first: dayText(oldest), last: dayText(today) };
}

/** The next even number of times a power of ten, at most ten times: it and its half are short numbers. */
export function niceAbove(amount: bigint): bigint {
    let power = 1n;
    while (power * 10n < amount) power *= 10n;
    return [2n, 4n, 6n, 8n, 10n].map((factor) => factor * power).find((nice) => nice >= amount) ?? power * 10n;
}

const round = (value: number): number => Math.round(value * 10) / 10;
