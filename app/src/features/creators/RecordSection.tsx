// The record of a creator over all agents: calls, answer times, disputes, collateral, and since when.

import { useInfiniteQuery, useQuery } from '@tanstack/react-query';

import { formatCount, formatMs, formatShare } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Skeleton } from '../../shared/ui/Skeleton';
import { agentQuery } from '../agent';
import { type Wallet, walletHistoryQuery } from '../creator';
import styles from './Creators.module.css';
import { agentsOfQuery } from './query';
import { oldestDay, rowsOf, sumsOf } from './record';
import { words } from './words';

const Waiting = () => <Skeleton height="1.5rem" width="6rem" />;

/** A figure that another request brings: `undefined` while it is on its way, `null` if there is none. */
const shown = (figure: string | null | undefined) => (figure === undefined ? <Waiting /> : (figure ?? words.unknown));

export function RecordSection({ wallet }: { wallet: Wallet }) {
    const { totals, agents, agents_total: count } = wallet;
    const list = useInfiniteQuery(agentsOfQuery(wallet.wallet));
    const listed = list.data?.pages.flatMap((page) => page.agents);
    const { all } = rowsOf(listed ?? [], agents);
    const isReady = listed !== undefined || list.isError;
    const { executions, successRate, averageMs } = sumsOf(all);
    return (
        <section aria-labelledby="record" className={styles.panel}>
            <h2 id="record">{words.record}</h2>
            <Figures>
                <Figure name={words.executions}>{shown(isReady ? formatCount(executions) : undefined)}</Figure>
                <Figure name={words.success}>{shown(isReady ? figureOf(successRate, formatShare) : undefined)}</Figure>
                <Figure name={words.time}>{shown(isReady ? figureOf(averageMs, formatMs) : undefined)}</Figure>
                <Disputed wallet={wallet.wallet} />
                <Figure name={words.slashed}>{words.usdc(formatUsdc(totals.slashed_usdc))}</Figure>
                <Figure name={words.collateral}>{words.usdc(formatUsdc(totals.collateral_usdc))}</Figure>
                <Since wallet={wallet} firstListed={listed?.[0]?.agent_id} />
            </Figures>
            {isReady && all.length < count && <p className="small muted">{words.partial}</p>}
        </section>
    );
}

const figureOf = (value: number | null, format: (value: number) => string): string | null =>
    value === null ? null : format(value);

/** Of the executions that ended lately: how many were disputed. */
function Disputed({ wallet }: { wallet: string }) {
    // The page of a stranger need not follow every minute.
    const { data, isError } = useQuery({ ...walletHistoryQuery(wallet), refetchInterval: false });
    if (data === undefined)
        return isError ? null : (
            <Figure name={words.disputed(30)}>
                <Waiting />
            </Figure>
        );
    const completed = data.days.reduce((total, day) => total + day.completed_executions, 0);
    const disputed = data.days.reduce((total, day) => total + day.disputed_executions, 0);
    return (
        <Figure name={words.disputed(data.window_days)}>
            {completed === 0 ? words.unknown : words.disputedOf(formatCount(disputed), formatCount(completed))}
        </Figure>
    );
}

/** Closed agents are in no list, so the day of the oldest agent may not be that of the first. */
function Since({ wallet: { agents, agents_total: count }, firstListed }: { wallet: Wallet; firstListed?: string }) {
    const { data: agent } = useQuery({ ...agentQuery(firstListed ?? ''), enabled: firstListed !== undefined });
    const closed = agent?.creator.closed_agents;
    const day = oldestDay(agents);
    const isWhole = agents.length === count && (closed?.agents ?? 0) === 0;
    return (
        <>
            {day !== null && <Figure name={words.since}>{isWhole ? day : words.sinceAtLeast(day)}</Figure>}
            {closed !== undefined && closed.agents > 0 && (
                <Figure name={words.closed(closed.agents)}>
                    {words.closedRecord(closed.successful_executions, closed.failed_executions)}
                </Figure>
            )}
        </>
    );
}
