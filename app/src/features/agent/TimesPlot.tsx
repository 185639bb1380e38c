// A small plot of the median and the 95th percentile of each day. The same figures are in a table below it.

import { formatMs, plural } from '../../shared/figures';
import { useWidth } from '../../shared/plot/useWidth';
import styles from './TimesPlot.module.css';
import type { AgentHistory } from './query';
import { type Point, plotOf } from './plot';

type Day = AgentHistory['days'][number];

export type TimesPlotProps = { days: readonly Day[]; windowDays: number };

const HEIGHT = 180;

export function TimesPlot({ days, windowDays }: TimesPlotProps) {
    const { ref, width } = useWidth();
    const measured = days.filter((day) => day.p50_execution_time_ms !== null);
    if (measured.length === 0) return <p className="muted">No execution was completed in these days.</p>;
    const plot = plotOf(measured, windowDays, new Date(), { width, height: HEIGHT });
    return (
        <figure className={styles.figure}>
            <div ref={ref} className={styles.plot}>
                <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
                    {plot.lines.map(({ y, ms }) => (
                        <g key={ms}>
                            <line x1="0" x2={width} y1={y} y2={y} className={styles.line} />
                            <text x="0" y={y - 4} className={styles.label}>
                                {formatMs(ms)}
                            </text>
                        </g>
                    ))}
                    <Series points={plot.p95} className={styles.p95 ?? ''} />
                    <Series points={plot.p50} className={styles.p50 ?? ''} />
                </svg>
            </div>
            <figcaption className={styles.legend}>
                <span className={styles.keyP50}>Median of each day</span>
                <span className={styles.keyP95}>95th percentile</span>
            </figcaption>
            <details>
                <summary>As a table</summary>
                <table className={styles.table}>
                    <thead>
                        <tr>
                            <th scope="col">Day (UTC)</th>
                            <th scope="col">Median</th>
                            <th scope="col">95th percentile</th>
                            <th scope="col">Ended</th>
                        </tr>
                    </thead>
                    <tbody>
                        {days.map((day) => (
                            <tr key={day.day}>
                                <th scope="row">{day.day}</th>
                                <td>{timeOf(day.p50_execution_time_ms)}</td>
                                <td>{timeOf(day.p95_execution_time_ms)}</td>
                                <td>{`${plural(day.completed_executions, 'completed', 'completed')}, ${day.failed_executions} failed`}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </details>
        </figure>
    );
}

const timeOf = (ms: number | null): string => (ms === null ? '–' : formatMs(ms));

const Series = ({ points, className }: { points: readonly Point[]; className: string }) => (
    <g className={className}>
        <polyline points={points.map(({ x, y }) => `${x},${y}`).join(' ')} />
        {points.map(({ x, y }) => (
            <circle key={x} cx={x} cy={y} r="3.5" />
        ))}
    </g>
);
