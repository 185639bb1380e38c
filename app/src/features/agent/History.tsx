// How an agent did lately: its times day by day, and its newest executions.

import { useQuery } from '@tanstack/react-query';

import { type Described, accountLinkOf, useNetwork } from '../../shared/explorer';
import { formatMs } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { Address } from '../../shared/ui/Address';
import { Failure } from '../../shared/ui/Failure';
import { Skeleton } from '../../shared/ui/Skeleton';
import { StatusBadge } from '../../shared/ui/StatusBadge';
import { Time } from '../../shared/ui/Time';
import styles from './Agent.module.css';
import { historyWords as words } from './historyWords';
import { type AgentHistory, historyQuery } from './query';
import { TimesPlot } from './TimesPlot';

export function History({ agentId }: { agentId: string }) {
    const { data, error, refetch } = useQuery(historyQuery(agentId));
    const network = useNetwork();
    if (error !== null && data === undefined) return <Failure error={error} onRetry={() => void refetch()} />;
    return (
        <>
            <section aria-labelledby="times" className="stack">
                <h2 id="times">{words.days(data?.window_days ?? 30)}</h2>
                {data === undefined ? (
                    <Skeleton height="24rem" />
                ) : (
                    <TimesPlot days={data.days} windowDays={data.window_days} />
                )}
            </section>
            <section aria-labelledby="recent" className="stack">
                <h2 id="recent">{words.newest}</h2>
                {data === undefined ? (
                    <Skeleton height="10rem" />
                ) : (
                    <Recent executions={data.recent_executions} network={network} />
                )}
            </section>
        </>
    );
}

type Execution = AgentHistory['recent_executions'][number];

const Reason = ({ code }: { code: string | null }) => {
    const text = words.reasons[code ?? ''];
    return text === undefined ? null : <span className="small muted"> {text}</span>;
};

export function Recent({ executions, network }: { executions: readonly Execution[]; network: Described }) {
    if (executions.length === 0) return <p className="muted">{words.none}</p>;
    return (
        <div className={styles.scroll} role="region" aria-label={words.newestTable} tabIndex={0}>
            <table className={styles.table}>
                <thead>
                    <tr>
                        <th scope="col">{words.state}</th>
                        <th scope="col">{words.opened}</th>
                        <th scope="col">{words.took}</th>
                        <th scope="col">{words.cost}</th>
                        <th scope="col">{words.record}</th>
                    </tr>
                </thead>
                <tbody>
                    {executions.map((execution) => (
                        <tr key={execution.record}>
                            <td>
                                <StatusBadge status={execution.status} />
                                <Reason code={execution.failure_reason} />
                            </td>
                            <td>
                                <Time iso={execution.initiated_at} />
                            </td>
                            <td className="number">
                                {execution.execution_time_ms === null ? '–' : formatMs(execution.execution_time_ms)}
                            </td>
                            <td className="number">{formatUsdc(execution.cost_usdc)}</td>
                            <td>
                                <Address
                                    value={execution.record}
                                    what={words.address}
                                    href={accountLinkOf(network, execution.on_chain_record)}
                                />
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}
