// A bar for each day. The same values are in the table below it, for those who cannot see the bars.

import { useWidth } from '../../../shared/plot/useWidth';
import styles from './DayPlot.module.css';
import { type DayValue, barsOf, endsOf } from './bars';

const HEIGHT = 180;

export type DayPlotProps = { days: readonly DayValue[]; windowDays: number; format: (value: bigint) => string };

export function DayPlot({ days, windowDays, format }: DayPlotProps) {
    const { ref, width } = useWidth();
    const now = new Date();
    const { bars, lines } = barsOf(days, windowDays, now, { width, height: HEIGHT });
    const [first, last] = endsOf(windowDays, now);
    return (
        <div ref={ref} className={styles.plot}>
            <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
                {lines.map(({ y, value }) => (
                    <g key={String(value)}>
                        <line x1="0" x2={width} y1={y} y2={y} className={styles.line} />
                        {value > 0n && (
                            <text x="0" y={y - 5} className={styles.label}>
                                {format(value)}
                            </text>
                        )}
                    </g>
                ))}
                {bars.map(({ day, ...bar }) => (
                    <rect key={day} {...bar} rx="1.5" className={styles.bar} />
                ))}
                <text x="0" y={HEIGHT - 4} className={styles.label}>
                    {first}
                </text>
                <text x={width} y={HEIGHT - 4} textAnchor="end" className={styles.label}>
                    {last}
                </text>
            </svg>
        </div>
    );
}
