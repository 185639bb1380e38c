// The agents of a creator, one row each, which leads to its page.

import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { formatCount, formatMs, formatShare, plural } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { More } from '../../shared/ui/More';
import { Skeleton } from '../../shared/ui/Skeleton';
import { type Column, Table } from '../../shared/ui/Table';
import type { Wallet } from '../creator';
import styles from './Creators.module.css';
import { agentsOfQuery } from './query';
import { type AgentRow, rowsOf } from './record';
import { words } from './words';

const { columns } = words;

const successOf = ({ successRate }: AgentRow): string =>
    successRate === null ? words.unknown : formatShare(successRate);

const COLUMNS: readonly Column<AgentRow>[] = [
    { name: columns.agent, cell: (row) => <Name row={row} />, place: 'start' },
    { name: columns.trust, cell: ({ trust }) => formatUsdc(trust), isNumber: true },
    { name: columns.executions, cell: ({ executions }) => formatCount(executions), isNumber: true },
    { name: columns.success, cell: successOf, isNumber: true },
    {
        name: columns.time,
        cell: ({ averageMs }) => (averageMs === null ? words.unknown : formatMs(averageMs)),
        isNumber: true,
    },
    {
        name: columns.record,
        cell: (row) =>
            row.executions === 0
                ? words.noExecutions
                : words.recordLine(plural(row.executions, words.execution), successOf(row)),
        place: 'rest',
        isNarrow: true,
    },
    { name: columns.price, cell: ({ price }) => formatUsdc(price), isNumber: true, place: 'end' },
];

const Name = ({ row: { agentId, name, status, isSuspended } }: { row: AgentRow }) => (
    <span className={styles.name}>
        <Link to="/agents/$agentId" params={{ agentId }} data-row>
            <UserText text={name ?? agentId} />
        </Link>
        {status === 'paused' && <Badge kind="warn">{isSuspended ? words.suspended : words.paused}</Badge>}
    </span>
);

export function AgentsSection({ wallet }: { wallet: Wallet }) {
    const list = useInfiniteQuery(agentsOfQuery(wallet.wallet));
    const listed = list.data?.pages.flatMap((page) => page.agents);
    const total = list.data?.pages[0]?.total ?? 0;
    const { shown } = rowsOf(listed ?? [], wallet.agents);
    const count = shown.length - (listed?.length ?? 0) + total;
    return (
        <section aria-labelledby="agents" className="stack">
            <h2 id="agents">{listed === undefined ? words.agentsTitle : words.agents(count)}</h2>
            {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
            {list.isPending && <Skeleton height="14rem" />}
            {listed !== undefined && shown.length === 0 && <NoAgents wallet={wallet} />}
            {listed !== undefined && shown.length > 0 && (
                <div className={styles.list}>
                    <Table
                        caption={words.caption}
                        columns={COLUMNS}
                        rows={shown}
                        rowKey={({ agentId }) => agentId}
                        narrow="lines"
                        isLeading
                    />
                    {wallet.agents_total > wallet.agents.length && (
                        <p className="small muted">{words.pausedOfNewest(wallet.agents.length)}</p>
                    )}
                    {!list.hasNextPage && listed.length < total ? (
                        <p>
                            <Link to="/" search={{ creator: wallet.wallet }}>
                                {words.allAgents(listed.length)}
                            </Link>
                        </p>
                    ) : (
                        list.hasNextPage && <More list={list} shown={shown.length} what={words.agent} />
                    )}
                </div>
            )}
        </section>
    );
}

const NoAgents = ({ wallet: { agents_total: count } }: { wallet: Wallet }) =>
    count === 0 ? (
        <p className="muted">{words.noneText}</p>
    ) : (
        <Empty title={words.noneShown}>
            <p>{words.noneShownText(count)}</p>
        </Empty>
    );
