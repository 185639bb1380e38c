// The drawing of a plot, and what a reader learns of one day: by pointer, by touch, and by the keys of a slider, which
// screen readers know.

import { type PointerEvent, useState } from 'react';

import { UserText } from '../text/UserText';
import { visible } from '../text/visible';
import { longDay } from '../time/days';
import styles from './Plot.module.css';
import { type Layout, layoutOf } from './layout';
import type { Drawn } from './measure';
import { useWidth } from './useWidth';
import { words } from './words';

const HEIGHT = 200;
const DOT = 3;

export type DrawingProps = {
    /** What is drawn. */
    title: string;
    drawn: Drawn;
    format: (value: bigint) => string;
    /** Said of a day without data. */
    nothing: string;
};

type Line = { readonly name: string; readonly value: string; readonly tone: string };

export function Drawing({ title, drawn, format, nothing }: DrawingProps) {
    const { ref, width } = useWidth();
    const [chosen, setChosen] = useState<number | null>(null);
    const layout = layoutOf(drawn, { width, height: HEIGHT }, format);
    const last = drawn.days.length - 1;
    // Another window may be shorter.
    const index = chosen === null ? null : Math.min(chosen, last);
    const follow = (event: PointerEvent<HTMLDivElement>): void =>
        setChosen(layout.dayAt(event.clientX - event.currentTarget.getBoundingClientRect().left));
    const lines = linesOf(drawn, index ?? last, format, nothing);
    const day = longDay(drawn.days[index ?? last] ?? '');
    return (
        <div
            ref={ref}
            className={styles.plot}
            onPointerDown={follow}
            onPointerMove={follow}
            onPointerLeave={({ pointerType }) => pointerType === 'mouse' && setChosen(null)}
        >
            <Picture drawn={drawn} layout={layout} width={width} chosen={index} format={format} />
            <input
                type="range"
                className={styles.keys}
                min={0}
                max={last}
                value={index ?? last}
                aria-label={words.choose(title)}
                aria-valuetext={`${day}: ${lines.map(({ name, value }) => words.ofDay(visible(name), value)).join(', ')}`}
                onFocus={({ target }) => target.matches(':focus-visible') && setChosen(index ?? last)}
                onBlur={() => setChosen(null)}
                onChange={({ target }) => setChosen(Number(target.value))}
                onKeyDown={({ key }) => key === 'Escape' && setChosen(null)}
            />
            {index !== null && <Tip day={day} lines={lines} at={layout.bands[index]} width={width} />}
        </div>
    );
}

/** What a day says: each series, and the sum of the day in the window before. */
function linesOf({ series, before }: Drawn, index: number, format: DrawingProps['format'], nothing: string): Line[] {
    const text = (value: bigint | null | undefined): string =>
        value === null || value === undefined ? nothing : format(value);
    const own = series.map(({ name, tone, values }) => ({ name, tone, value: text(values[index]) }));
    if (before === null) return own;
    return [...own, { name: words.before(before.length), tone: 'before', value: text(before[index]) }];
}

type PictureProps = {
    drawn: Drawn;
    layout: Layout;
    width: number;
    chosen: number | null;
    format: (value: bigint) => string;
};

const Picture = ({ drawn: { series }, layout, width, chosen, format }: PictureProps) => (
    <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
        {chosen !== null && layout.bands[chosen] && <rect {...layout.bands[chosen]} className={styles.band} />}
        {layout.ticks.map(({ y, value }) => (
            <g key={String(value)}>
                <line x1={layout.left} x2={width} y1={y} y2={y} className={styles.line} />
                <text x={layout.left - 8} y={y + 4} textAnchor="end" className={styles.label}>
                    {format(value)}
                </text>
            </g>
        ))}
        {layout.bars.map((boxes, index) => (
            <g key={index} className={styles[series[index]?.tone ?? 'accent']}>
                {boxes.map((box) => (
                    <rect key={box.x} {...box} />
                ))}
            </g>
        ))}
        {layout.lines.map(({ path, points }, index) => (
            <g key={index} className={styles[series[index]?.tone ?? 'accent']}>
                <path d={path} className={styles.path} />
                {points.map(({ x, y }) => (
                    <circle key={x} cx={x} cy={y} r={DOT} />
                ))}
            </g>
        ))}
        {layout.dashes.map(({ x, y, width: wide }) => (
            <line key={x} x1={x} x2={x + wide} y1={y} y2={y} className={styles.dash} />
        ))}
        {layout.dates.map(({ x, text, anchor }) => (
            <text key={text} x={x} y={HEIGHT - 6} textAnchor={anchor} className={styles.label}>
                {text}
            </text>
        ))}
    </svg>
);

type TipProps = { day: string; lines: readonly Line[]; at: Layout['bands'][number] | undefined; width: number };

/** The slider says the same to those who cannot see it. It stands within the plot: at the left edge of its day at the left. */
function Tip({ day, lines, at, width }: TipProps) {
    if (at === undefined) return null;
    const middle = at.x + at.width / 2;
    return (
        <div
            className={styles.tip}
            style={{ left: `${middle}px`, transform: `translateX(${(-middle / width) * 100}%)` }}
            aria-hidden="true"
        >
            <strong>{day}</strong>
            {lines.map(({ name, value, tone }) => (
                <span key={name} className={styles.tipLine}>
                    <span className={`${styles.key} ${styles[tone] ?? ''}`}>
                        <UserText text={name} />
                    </span>
                    <span className="number">{value}</span>
                </span>
            ))}
        </div>
    );
}
