// Bars of what was earned on each day. The same figures are in a table below them, which screen readers read.

import { formatCount } from '../../../shared/figures';
import { formatUsdc } from '../../../shared/money';
import { useWidth } from '../../../shared/plot/useWidth';
import { type Column, Table } from '../../../shared/ui/Table';
import { barsOf } from './bars';
import styles from './Earnings.module.css';
import type { EarningsDay } from './history';

const HEIGHT = 180;

const COLUMNS: readonly Column<EarningsDay>[] = [
    { name: 'Day (UTC)', cell: ({ day }) => <span className="number">{day}</span> },
    { name: 'Completed', cell: (day) => formatCount(day.completed_executions), isNumber: true },
    { name: 'Failed', cell: (day) => formatCount(day.failed_executions), isNumber: true },
    { name: 'Disputed', cell: (day) => formatCount(day.disputed_executions), isNumber: true },
    { name: 'Fees, USDC', cell: (day) => formatUsdc(day.fees_usdc), isNumber: true },
    { name: 'Earned, USDC', cell: (day) => formatUsdc(day.earned_usdc), isNumber: true },
];

export type EarningsPlotProps = { days: readonly EarningsDay[]; windowDays: number };

export function EarningsPlot({ days, windowDays }: EarningsPlotProps) {
    const { ref, width } = useWidth();
    const { bars, lines, first, last } = barsOf(days, windowDays, new Date(), { width, height: HEIGHT });
    return (
        <figure className={styles.figure}>
            <div ref={ref} className={styles.plot}>
                <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
                    {lines.map(({ y }) => (
                        <line key={y} x1="0" x2={width} y1={y} y2={y} className={styles.line} />
                    ))}
                    {bars.map(({ day, ...bar }) => (
                        <rect key={day} {...bar} rx="1.5" className={styles.bar} />
                    ))}
                    {lines.map(
                        ({ y, amount }) =>
                            amount > 0n && (
                                <text key={y} x="0" y={y - 4} className={styles.scale}>
                                    {formatUsdc(amount)} USDC
                                </text>
                            ),
                    )}
                    <text x="0" y={HEIGHT - 6} className={styles.label}>
                        {first}
                    </text>
                    <text x={width} y={HEIGHT - 6} textAnchor="end" className={styles.label}>
                        {last}
                    </text>
                </svg>
            </div>
            <figcaption className="muted small">
                USDC earned on each day (UTC), after the fee of the marketplace.
            </figcaption>
            <details className={styles.details}>
                <summary>As a table</summary>
                <Table
                    caption="Earnings by day, newest first"
                    columns={COLUMNS}
                    rows={[...days].reverse()}
                    rowKey={({ day }) => day}
                />
            </details>
        </figure>
    );
}
