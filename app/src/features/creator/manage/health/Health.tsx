// How the agent does: its state, the last 24 hours, what it earned, and its last failures.

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { formatCount, formatMs, formatShare } from '../../../../shared/figures';
import { formatUsdc } from '../../../../shared/money';
import { Failure } from '../../../../shared/ui/Failure';
import { Figure, Figures } from '../../../../shared/ui/Figures';
import { Skeleton } from '../../../../shared/ui/Skeleton';
import { SessionGate } from '../../../wallet';
import { EarningsPlot } from '../../earnings/EarningsPlot';
import { sumsOfDays } from '../../earnings/history';
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
                    <LastDay wallet={wallet} agentId={agentId} />
                    <Earnings wallet={wallet} agentId={agentId} />
                    <LastFailures wallet={wallet} agentId={agentId} />
                </>
            )}
        </SessionGate>
    </section>
);

type OwnProps = { wallet: string; agentId: string };

function LastDay({ wallet, agentId }: OwnProps) {
    const { data, error, refetch } = useQuery(healthQuery(wallet, agentId));
    return (
        <section aria-labelledby="last-day" className={styles.panel}>
            <h2 id="last-day">{words.health.lastDay}</h2>
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
        </section>
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
        <section aria-labelledby="agent-earnings" className={`${styles.panel} ${styles.tall}`}>
            <h2 id="agent-earnings">{words.health.earnings(WINDOW_DAYS)}</h2>
            {days === undefined ? (
                <Pending error={error} onRetry={() => void refetch()} height="14rem" />
            ) : days.length === 0 ? (
                <p className="muted">{words.health.noEarnings}</p>
            ) : (
                <>
                    <p className={styles.sum}>{words.usdc(formatUsdc(sumsOfDays(days).earned))}</p>
                    <EarningsPlot days={days} windowDays={WINDOW_DAYS} />
                </>
            )}
        </section>
    );
}

const Pending = ({ error, onRetry, height }: { error: unknown; onRetry: () => void; height: string }) =>
    error === null ? <Skeleton height={height} /> : <Failure error={error} onRetry={onRetry} />;

/** Nothing was called, or nothing has ended. */
const NONE = '–';

const shareText = (share: number | null): string => (share === null ? NONE : formatShare(share));
const timeText = (ms: number | null): string => (ms === null ? NONE : formatMs(ms));
