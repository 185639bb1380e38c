// The geometry of the plot of execution times: days from left to right, times on a logarithmic scale.

import { dayShare } from '../../shared/plot/days';
import type { AgentHistory } from './query';

export type Point = { readonly x: number; readonly y: number };
export type Plot = {
    readonly p50: readonly Point[];
    readonly p95: readonly Point[];
    /** Horizontal lines with their times. */
    readonly lines: readonly { readonly y: number; readonly ms: number }[];
};

type Day = AgentHistory['days'][number];
type Size = { readonly width: number; readonly height: number };

const MARGIN = { left: 64, right: 12, top: 20, bottom: 12 };

/** `days` have times. `now`: the right end. */
export function plotOf(days: readonly Day[], windowDays: number, now: Date, { width, height }: Size): Plot {
    const times = days
        .flatMap((day) => [day.p50_execution_time_ms, day.p95_execution_time_ms])
        .filter((ms) => ms !== null);
    const low = powerBelow(Math.min(...times));
    const high = Math.max(powerBelow(Math.max(...times)) * 10, low * 10);
    const y = (ms: number): number => {
        const share = Math.log(Math.max(ms, 1) / low) / Math.log(high / low);
        return round(height - MARGIN.bottom - share * (height - MARGIN.top - MARGIN.bottom));
    };
    const x = (day: string): number =>
        round(MARGIN.left + dayShare(day, windowDays, now) * (width - MARGIN.left - MARGIN.right));
    const series = (time: (day: Day) => number | null): Point[] =>
        days.flatMap((day) => {
            const ms = time(day);
            return ms === null ? [] : [{ x: x(day.day), y: y(ms) }];
        });
    const lines = [];
    for (let ms = low; ms <= high; ms *= 10) lines.push({ ms, y: y(ms) });
    return { p50: series((day) => day.p50_execution_time_ms), p95: series((day) => day.p95_execution_time_ms), lines };
}

const powerBelow = (ms: number): number => 10 ** Math.floor(Math.log10(Math.max(ms, 1)));

const round = (value: number): number => Math.round(value * 10) / 10;
