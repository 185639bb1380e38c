// How the agent does: its state, the last 24 hours, what it earned, and its last failures.

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { formatCount, formatMs, formatShare } from '../../../../shared/figures';
import { Failure } from '../../../../shared/ui/Failure';
import { Figure, Figures } from '../../../../shared/ui/Figures';
import { Panel } from '../../../../shared/ui/Panel';
import { SectionBoundary } from '../../../../shared/ui/SectionBoundary';
import { Skeleton } from '../../../../shared/ui/Skeleton';
import { SessionGate } from '../../../wallet';
import { EarningsPlot } from '../../earnings/EarningsPlot';
import { words } from '../words';
import { Failures } from './Failures';
import styles from './Health.module.css';
import { WINDOW_DAYS, earningsQuery, healthQuery } from './query';

export type HealthProps = {
    agentId: string;
    /** What the chain says of its state. */
    state: ReactNode;
};

export const Health = ({ agentId, state }: HealthProps) => (
    <section aria-label={words.health.title} className={styles.health}>
        {state}
        <SessionGate why={words.health.why}>
            {(wallet) => (
                <>
                    <SectionBoundary name={words.health.lastDay}>
                        <LastDay wallet={wallet} agentId={agentId} />
                    </SectionBoundary>
                    <SectionBoundary name={words.health.earnings}>
                        <Earnings wallet={wallet} agentId={agentId} />
                    </SectionBoundary>
                    <SectionBoundary name={words.failures.title}>
                        <LastFailures wallet={wallet} agentId={agentId} />
                    </SectionBoundary>
                </>
            )}
        </SessionGate>
    </section>
);

type OwnProps = { wallet: string; agentId: string };

function LastDay({ wallet, agentId }: OwnProps) {
    const { data, error, refetch } = useQuery(healthQuery(wallet, agentId));
    return (
        <Panel title={words.health.lastDay} className={styles.day}>
            {data === undefined ? (
                <Pending error={error} onRetry={() => void refetch()} height="7rem" />
            ) : (
                <Figures>
                    <Figure name={words.health.calls}>{formatCount(data.executions)}</Figure>
                    <Figure name={words.health.success}>{shareText(data.success_rate)}</Figure>
                    <Figure name={words.health.half}>{timeText(data.p50_ms)}</Figure>
                    <Figure name={words.health.most}>{timeText(data.p95_ms)}</Figure>
                </Figures>
            )}
        </Panel>
    );
}

function LastFailures({ wallet, agentId }: OwnProps) {
    const { data } = useQuery(healthQuery(wallet, agentId));
    // That the figures could not be read is said above.
    return data === undefined ? null : <Failures failures={data.failures} />;
}

function Earnings({ wallet, agentId }: OwnProps) {
    const { data: days, error, refetch } = useQuery(earningsQuery(wallet, agentId));
    return (
        <Panel title={words.health.earnings} className={styles.tall}>
            {days === undefined ? (
                <Pending error={error} onRetry={() => void refetch()} height="14rem" />
            ) : days.length === 0 ? (
                <p className="muted">{words.health.noEarnings}</p>
            ) : (
                <EarningsPlot days={days} windowDays={WINDOW_DAYS} />
            )}
        </Panel>
    );
}

const Pending = ({ error, onRetry, height }: { error: unknown; onRetry: () => void; height: string }) =>
    error === null ? <Skeleton height={height} /> : <Failure error={error} onRetry={onRetry} />;

/** Nothing was called, or nothing has ended. */
const NONE = '–';

const shareText = (share: number | null): string => (share === null ? NONE : formatShare(share));
const timeText = (ms: number | null): string => (ms === null ? NONE : formatMs(ms));
