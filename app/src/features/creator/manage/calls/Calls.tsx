// The log of an own agent: each call with its state, the reason if it failed, and what it earned.

import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../../../shared/api/client';
import { accountLinkOf, useNetwork } from '../../../../shared/explorer';
import { formatMs, plural } from '../../../../shared/figures';
import { formatUsdc } from '../../../../shared/money';
import { short } from '../../../../shared/text/short';
import { UserText } from '../../../../shared/text/UserText';
import { ExactTime } from '../../../../shared/ui/ExactTime';
import { Failure } from '../../../../shared/ui/Failure';
import { More } from '../../../../shared/ui/More';
import { Skeleton } from '../../../../shared/ui/Skeleton';
import { StatusBadge } from '../../../../shared/ui/StatusBadge';
import { type Column, Table } from '../../../../shared/ui/Table';
import { executionsPath } from '../../paths';
import { reasonText } from '../reasonText';
import { words } from '../words';
import { callsQuery } from './query';

const w = words.calls;

const COLUMNS: readonly Column<Schemas['ExecutionSummary']>[] = [
    { name: w.started, cell: ({ initiated_at: at }) => <ExactTime at={at} /> },
    { name: w.state, cell: ({ status }) => <StatusBadge status={status} /> },
    {
        name: w.reason,
        cell: ({ failure }) => (failure ? <UserText text={reasonText(failure)} /> : '–'),
    },
    {
        name: w.took,
        cell: ({ execution_time_ms: ms }) => (typeof ms === 'number' ? formatMs(ms) : '–'),
        isNumber: true,
    },
    { name: w.earned, cell: ({ creator_amount_usdc: earned }) => formatUsdc(earned), isNumber: true },
    {
        name: w.record,
        cell: (call) => <RecordLink call={call} />,
    },
];

function RecordLink({ call }: { call: Schemas['ExecutionSummary'] }) {
    const network = useNetwork();
    const id = short(call.execution_id, 6);
    return (
        <a
            href={accountLinkOf(network, call.on_chain_record)}
            target="_blank"
            rel="noreferrer"
            className="mono"
            aria-label={w.recordOf(id)}
        >
            {id}
        </a>
    );
}

export function Calls({ wallet, agentId }: { wallet: string; agentId: string }) {
    const list = useInfiniteQuery(callsQuery(wallet, agentId));
    const calls = list.data?.pages.flatMap(({ executions }) => executions);
    const total = list.data?.pages[0]?.total ?? 0;
    return (
        <section aria-labelledby="calls" className="stack">
            <h2 id="calls">{w.title}</h2>
            <p className="muted">
                {calls && calls.length > 0 && `${plural(total, w.call)}. `}
                <Link to={executionsPath(agentId)}>{w.filters}</Link>
            </p>
            {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
            {list.isPending && <Skeleton height="16rem" />}
            {calls?.length === 0 && <p>{w.none}</p>}
            {calls !== undefined && calls.length > 0 && (
                <Table
                    caption={w.caption}
                    columns={COLUMNS}
                    rows={calls}
                    rowKey={({ execution_id: id, on_chain_record: record }) => `${id} ${record}`}
                />
            )}
            <More list={list} shown={calls?.length ?? 0} what={w.call} />
        </section>
    );
}
