// What the market has done: totals of all time, and of each day of the last weeks.

import { useQuery } from '@tanstack/react-query';

import { ApiError, type Schemas } from '../../../shared/api/client';
import { formatCount } from '../../../shared/figures';
import { formatUsdc } from '../../../shared/money';
import { Plot } from '../../../shared/plot/Plot';
import { type Measure, endings } from '../../../shared/plot/measure';
import { Failure } from '../../../shared/ui/Failure';
import { Figure, Figures } from '../../../shared/ui/Figures';
import { Skeleton } from '../../../shared/ui/Skeleton';
import type { Column } from '../../../shared/ui/Table';
import { Section } from '../Section';
import { type MarketDay, type MarketHistory, marketHistoryQuery } from './query';
import { words } from './words';

export function TotalsSection({ counts }: { counts: Schemas['MirrorCounts'] }) {
    const { data, error, refetch } = useQuery(marketHistoryQuery);
    return (
        <Section title={words.title}>
            <Figures>
                <Figure name={words.agents}>{formatCount(counts.agents)}</Figure>
                <Figure name={words.creators}>{formatCount(counts.creators)}</Figure>
                <Figure name={words.executions}>{formatCount(counts.executions)}</Figure>
                <Figure name={words.disputes}>{formatCount(counts.disputes)}</Figure>
                <Figure name={words.grants}>{formatCount(counts.grants)}</Figure>
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
        <p className="muted">{words.notKept}</p>
    ) : (
        <Failure error={error} onRetry={onRetry} />
    );

type DayFigure = { readonly name: string; readonly of: (day: MarketDay) => bigint; readonly isUsdc?: true };

const COMPLETED: DayFigure = { name: words.completed, of: (day) => BigInt(day.completed_executions) };
const FAILED: DayFigure = { name: words.failed, of: (day) => BigInt(day.failed_executions) };
const DISPUTED: DayFigure = { name: words.disputed, of: (day) => BigInt(day.disputed_executions) };
const VOLUME: DayFigure = { name: words.volume, of: (day) => day.volume_usdc, isUsdc: true };
const PAID: DayFigure = { name: words.creatorShare, of: (day) => day.volume_usdc - day.fees_usdc, isUsdc: true };
const FEES: DayFigure = { name: words.fees, of: (day) => day.fees_usdc, isUsdc: true };
const FIGURES: readonly DayFigure[] = [COMPLETED, FAILED, DISPUTED, VOLUME, PAID, FEES];

const countText = (value: bigint): string => formatCount(Number(value));
const formatOf = ({ isUsdc }: DayFigure) => (isUsdc ? (value: bigint) => words.usdc(formatUsdc(value)) : countText);

const MEASURES: readonly [Measure<MarketDay>, ...Measure<MarketDay>[]] = [
    endings(words.executions, (day) => day),
    ...[DISPUTED, VOLUME, PAID, FEES].map((figure) => ({
        name: figure.name,
        kind: 'bars' as const,
        series: [{ name: figure.name, of: figure.of, tone: 'accent' as const }],
        format: formatOf(figure),
    })),
];

const COLUMNS: readonly Column<MarketDay>[] = FIGURES.map((figure) => ({
    name: figure.name,
    cell: (day) => formatOf(figure)(figure.of(day)),
    isNumber: true,
}));

/** The totals of some days, and the plot of them. */
export function Days({ history: { days, window_days: windowDays } }: { history: MarketHistory }) {
    return (
        <>
            <h3>{words.lastDays(windowDays)}</h3>
            <Figures>
                {FIGURES.map((figure) => (
                    <Figure key={figure.name} name={figure.name}>
                        {formatOf(figure)(days.reduce((sum, day) => sum + figure.of(day), 0n))}
                    </Figure>
                ))}
            </Figures>
            {days.length === 0 ? (
                <p className="muted">{words.none}</p>
            ) : (
                <Plot
                    title={words.plot}
                    days={days}
                    knownDays={windowDays}
                    measures={MEASURES}
                    nothing={words.noneEnded}
                    columns={COLUMNS}
                    tableCaption={words.table}
                />
            )}
        </>
    );
}
