// The newest calls of the wallet, each with its way to the execution.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../shared/api/client';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import { Failure } from '../../shared/ui/Failure';
import { Skeleton } from '../../shared/ui/Skeleton';
import { StatusBadge } from '../../shared/ui/StatusBadge';
import { type Column, Table } from '../../shared/ui/Table';
import { Time } from '../../shared/ui/Time';
import styles from './Overview.module.css';
import { lastCallsQuery } from './query';
import { words } from './words';

type Execution = Schemas['ExecutionSummary'];

const { last } = words;

const COLUMNS: readonly Column<Execution>[] = [
    {
        name: last.agent,
        cell: ({ execution_id: executionId, agent_name }) => (
            <Link to="/executions/$executionId" params={{ executionId }} className={styles.call}>
                <UserText text={agent_name} />
                <span className="visually-hidden">, {last.open(short(executionId, 6))}</span>
            </Link>
        ),
    },
    { name: last.started, cell: ({ initiated_at }) => <Time iso={initiated_at} /> },
    {
        name: last.status,
        cell: ({ status }) => (
            <span>
                <StatusBadge status={status} />
            </span>
        ),
    },
    { name: last.cost, cell: ({ cost_usdc }) => formatUsdc(cost_usdc), isNumber: true },
];

export function LastCalls({ account }: { account: Address }) {
    const { data, error, refetch } = useQuery(lastCallsQuery(account));
    return (
        <section className="stack" aria-labelledby="last">
            <h2 id="last">{last.title}</h2>
            {error && data === undefined && <Failure error={error} onRetry={() => void refetch()} />}
            {data === undefined && error === null && <Skeleton height="12rem" />}
            {data?.executions.length === 0 && (
                <p>
                    {last.none} <Link to="/">{last.find}</Link>
                </p>
            )}
            {data !== undefined && data.executions.length > 0 && (
                <>
                    <Table
                        caption={last.caption}
                        columns={COLUMNS}
                        rows={data.executions}
                        rowKey={({ execution_id }) => execution_id}
                    />
                    <p>
                        <Link to="/executions">{last.all}</Link>
                    </p>
                </>
            )}
        </section>
    );
}
