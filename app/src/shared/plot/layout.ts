// Where everything of a plot stands. d3 makes the scales, the stacks and the lines with gaps. Amounts stay `bigint`; only
// their place on the screen is a number.

import { scaleBand, scaleLinear, scaleLog } from 'd3-scale';
import { line, stack } from 'd3-shape';

import { shortDay } from '../time/days';
import type { Drawn } from './measure';

export type Size = { readonly width: number; readonly height: number };

type Point = { readonly x: number; readonly y: number };
type Box = Point & { readonly width: number; readonly height: number };

export type Layout = {
    /** For each series its boxes, of bars. */
    readonly bars: readonly (readonly Box[])[];
    /** For each series its path and its points, of lines. */
    readonly lines: readonly { readonly path: string; readonly points: readonly Point[] }[];
    /** The days of the window before, as a dash at the height of each. */
    readonly dashes: readonly { readonly x: number; readonly y: number; readonly width: number }[];
    /** Horizontal lines with their values. */
    readonly ticks: readonly { readonly y: number; readonly value: bigint }[];
    readonly dates: readonly { readonly x: number; readonly text: string; readonly anchor: 'middle' | 'end' }[];
    /** The band of each day, from top to bottom. */
    readonly bands: readonly Box[];
    /** Where the plot begins, right of the values. */
    readonly left: number;
    /** The day at a place, for pointers. */
    readonly dayAt: (x: number) => number;
};

const MARGIN = { top: 10, right: 2, bottom: 24 };
const TICKS = 4;
/** A value that is there is seen, however small it is. */
const LEAST_HEIGHT = 2;
const LETTER = 6.8;
const DATE_WIDTH = 64;

const toNumber = (value: bigint | null | undefined): number => Number(value ?? 0n);
const largest = (values: readonly number[]): number => values.reduce((most, value) => Math.max(most, value), 0);

export function layoutOf(drawn: Drawn, size: Size, format: (value: bigint) => string): Layout {
    const { days, series, before, kind } = drawn;
    const floor = size.height - MARGIN.bottom;
    const { height, ticks } = kind === 'bars' ? linear(drawn, floor) : logarithmic(drawn, floor);
    const left = Math.ceil(largest(ticks.map((value) => format(value).length)) * LETTER) + 8;
    const x = scaleBand<number>()
        .domain(days.map((_, index) => index))
        .range([left, size.width - MARGIN.right])
        .paddingInner(days.length > 40 ? 0.15 : 0.3)
        .paddingOuter(0.15);
    const start = (index: number): number => x(index) ?? left;
    const middle = (index: number): number => start(index) + x.bandwidth() / 2;
    const bands = days.map((_, index) => {
        const from = start(index) - (x.step() - x.bandwidth()) / 2;
        return { x: from, y: MARGIN.top, width: x.step(), height: floor - MARGIN.top };
    });
    return {
        bars: kind === 'bars' ? barsOf(drawn, height, start, x.bandwidth()) : [],
        lines: kind === 'bars' ? [] : series.map(({ values }) => lineOf(values, middle, height)),
        dashes: (before ?? []).flatMap((value, index) =>
            value === null ? [] : [{ x: start(index), y: height(Number(value)), width: x.bandwidth() }],
        ),
        ticks: ticks.map((value) => ({ value, y: height(Number(value)) })),
        dates: datesOf(days, x.step(), middle, size.width - MARGIN.right),
        bands,
        left,
        dayAt: (at) => Math.min(Math.max(Math.floor((at - (bands[0]?.x ?? 0)) / x.step()), 0), days.length - 1),
    };
}

type Scale = { readonly height: (value: number) => number; readonly ticks: readonly bigint[] };

/** From 0 to a round value above the highest stack. */
function linear({ days, series, before }: Drawn, floor: number): Scale {
    const stacks = days.map((_, index) => series.reduce((sum, { values }) => sum + toNumber(values[index]), 0));
    const top = Math.max(largest(stacks), largest((before ?? []).map(toNumber)), 1);
    const scale = scaleLinear().domain([0, top]).nice(TICKS).range([floor, MARGIN.top]);
    return { height: (value) => scale(value), ticks: scale.ticks(TICKS).filter(Number.isInteger).map(BigInt) };
}

/** From a power of ten below the lowest value to one above the highest. */
function logarithmic({ series, before }: Drawn, floor: number): Scale {
    const values = [...series.flatMap((one) => one.values), ...(before ?? [])]
        .filter((value) => value !== null)
        .map((value) => Math.max(Number(value), 1));
    const low = 10 ** Math.floor(Math.log10(values.reduce((least, value) => Math.min(least, value), Infinity)));
    const from = Number.isFinite(low) ? low : 1;
    const to = Math.max(10 ** Math.ceil(Math.log10(Math.max(largest(values), 1))), from * 10);
    const scale = scaleLog().domain([from, to]).range([floor, MARGIN.top]);
    const ticks = [];
    for (let tick = from; tick <= to; tick *= 10) ticks.push(BigInt(tick));
    return { height: (value) => scale(Math.max(value, 1)), ticks };
}

function barsOf(
    { days, series }: Drawn,
    height: (value: number) => number,
    x: (index: number) => number,
    width: number,
) {
    const stacked = stack<number, number>()
        .keys(series.keys())
        .value((index, key) => toNumber(series[key]?.values[index]))(days.keys());
    // Where the stack of each day ends, as it is drawn.
    const tops = days.map(() => height(0));
    return stacked.map((layer) =>
        layer.flatMap(([from, to], index) => {
            const top = tops[index] ?? 0;
            if (to <= from) return [];
            const tall = Math.max(height(from) - height(to), LEAST_HEIGHT);
            tops[index] = top - tall;
            return [{ x: x(index), y: top - tall, width, height: tall }];
        }),
    );
}

function lineOf(values: readonly (bigint | null)[], x: (index: number) => number, y: (value: number) => number) {
    const path = line<bigint | null>()
        .defined((value) => value !== null)
        .x((_, index) => x(index))
        .y((value) => y(toNumber(value)))
        .digits(1)(values);
    const points = values.flatMap((value, index) => (value === null ? [] : [{ x: x(index), y: y(Number(value)) }]));
    return { path: path ?? '', points };
}

/** As many dates as have room, counted back from the last day. */
function datesOf(days: readonly string[], step: number, middle: (index: number) => number, right: number) {
    const every = Math.max(1, Math.ceil(DATE_WIDTH / step));
    return days.flatMap((day, index) => {
        if ((days.length - 1 - index) % every !== 0) return [];
        const isLast = index === days.length - 1;
        // The middle of the last band is too near to the edge for a whole date.
        const isAtEdge = isLast && middle(index) + DATE_WIDTH / 3 > right;
        return [
            {
                x: isAtEdge ? right : middle(index),
                text: shortDay(day),
                anchor: isAtEdge ? ('end' as const) : ('middle' as const),
            },
        ];
    });
}
