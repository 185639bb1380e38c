// What the market has done: totals of all time, and of each day of the last weeks.

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import { ApiError, type Schemas } from '../../../shared/api/client';
import { formatCount } from '../../../shared/figures';
import { formatUsdc } from '../../../shared/money';
import { Failure } from '../../../shared/ui/Failure';
import { Select } from '../../../shared/ui/Field';
import { Figure, Figures } from '../../../shared/ui/Figures';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { Table } from '../../../shared/ui/Table';
import { Section } from '../Section';
import { DayPlot } from './DayPlot';
import { type MarketDay, type MarketHistory, marketHistoryQuery } from './query';
import styles from './Totals.module.css';

export function TotalsSection({ counts }: { counts: Schemas['MirrorCounts'] }) {
    const { data, error, refetch } = useQuery(marketHistoryQuery);
    return (
        <Section title="Totals">
            <Figures>
                <Figure name="Agents">{formatCount(counts.agents)}</Figure>
                <Figure name="Creators">{formatCount(counts.creators)}</Figure>
                <Figure name="Executions">{formatCount(counts.executions)}</Figure>
                <Figure name="Disputes">{formatCount(counts.disputes)}</Figure>
                <Figure name="Grants of API keys">{formatCount(counts.grants)}</Figure>
            </Figures>
            {data ? (
                <Days history={data} />
            ) : error ? (
                <NoDays error={error} onRetry={() => void refetch()} />
            ) : (
                <Skeleton height="24rem" />
            )}
        </Section>
    );
}

/** An older service has no such endpoint. */
const NoDays = ({ error, onRetry }: { error: Error; onRetry: () => void }) =>
    error instanceof ApiError && error.status === 404 ? (
        <p className="muted">This service does not keep totals by day.</p>
    ) : (
        <Failure error={error} onRetry={onRetry} />
    );

type Measure = { readonly name: string; readonly of: (day: MarketDay) => bigint; readonly isUsdc?: true };

const MEASURES: readonly [Measure, ...Measure[]] = [
    { name: 'Completed executions', of: (day) => BigInt(day.completed_executions) },
    { name: 'Failed executions', of: (day) => BigInt(day.failed_executions) },
    { name: 'Disputed executions', of: (day) => BigInt(day.disputed_executions) },
    { name: 'Volume', of: (day) => day.volume_usdc, isUsdc: true },
    { name: 'Paid to creators', of: (day) => day.volume_usdc - day.fees_usdc, isUsdc: true },
    { name: 'Fees', of: (day) => day.fees_usdc, isUsdc: true },
];

const valueText = (value: bigint, { isUsdc }: Measure): string =>
    isUsdc ? `${formatUsdc(value)} USDC` : formatCount(Number(value));

const COLUMNS = [
    { name: 'Day (UTC)', cell: ({ day }: MarketDay) => day },
    ...MEASURES.map((measure) => ({
        name: measure.name,
        cell: (day: MarketDay) => valueText(measure.of(day), measure),
        isNumber: true as const,
    })),
];

/** The totals of some days, with a plot of one of them. */
export function Days({ history: { days, window_days: windowDays } }: { history: MarketHistory }) {
    const [chosen, setChosen] = useState(0);
    const measure = MEASURES[chosen] ?? MEASURES[0];
    return (
        <>
            <h3>The last {formatCount(windowDays)} days</h3>
            <Figures>
                {MEASURES.map((each) => (
                    <Figure key={each.name} name={each.name}>
                        {valueText(
                            days.reduce((sum, day) => sum + each.of(day), 0n),
                            each,
                        )}
                    </Figure>
                ))}
            </Figures>
            {days.length === 0 ? (
                <p className="muted">No execution ended in these days.</p>
            ) : (
                <div className={styles.card}>
                    <div className={styles.measure}>
                        <Select
                            label="Shown for each day"
                            value={chosen}
                            onChange={(event) => setChosen(Number(event.target.value))}
                        >
                            {MEASURES.map(({ name }, index) => (
                                <option key={name} value={index}>
                                    {name}
                                </option>
                            ))}
                        </Select>
                    </div>
                    <DayPlot
                        days={days.map((day) => ({ day: day.day, value: measure.of(day) }))}
                        windowDays={windowDays}
                        format={(value) => valueText(value, measure)}
                    />
                    <details>
                        <summary>As a table</summary>
                        <Table
                            caption="Totals of each day"
                            columns={COLUMNS}
                            rows={[...days].reverse()}
                            rowKey={({ day }) => day}
                        />
                    </details>
                </div>
            )}
        </>
    );
}
