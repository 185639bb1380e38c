// The newest deliveries of a webhook: each event, and the last attempt to send it.

import { useQuery } from '@tanstack/react-query';

import { formatMs } from '../../shared/figures';
import { UserText } from '../../shared/text/UserText';
import { Badge, type BadgeProps } from '../../shared/ui/Badge';
import { ExactTime } from '../../shared/ui/ExactTime';
import { Failure } from '../../shared/ui/Failure';
import { Skeleton } from '../../shared/ui/Skeleton';
import { type Column, Table } from '../../shared/ui/Table';
import { type Delivery, logQuery } from './query';
import { words } from './words';

const w = words.log;

const KINDS: Record<string, NonNullable<BadgeProps['kind']>> = {
    waiting: 'accent',
    acknowledged: 'good',
    given_up: 'bad',
};
const STATES: Record<string, string> = w.states;

const COLUMNS: readonly Column<Delivery>[] = [
    { name: w.event, cell: ({ sequence }) => sequence, isNumber: true },
    { name: w.type, cell: ({ type }) => <UserText text={type} /> },
    {
        name: w.state,
        cell: ({ state }) => <Badge kind={KINDS[state] ?? 'plain'}>{STATES[state] ?? state}</Badge>,
    },
    { name: w.attempts, cell: ({ attempts }) => attempts, isNumber: true },
    { name: w.lastAttempt, cell: ({ attempted_at: at }) => (at === null ? w.noneYet : <ExactTime at={at} />) },
    { name: w.status, cell: ({ status }) => status ?? words.none, isNumber: true },
    { name: w.took, cell: ({ duration_ms: ms }) => (ms === null ? words.none : formatMs(ms)), isNumber: true },
    { name: w.answer, cell: ({ answer }) => (answer ? <UserText text={answer} /> : words.none) },
];

export function Log({ account, webhookId }: { account: string; webhookId: string }) {
    const { data, error, refetch } = useQuery(logQuery(account, webhookId));
    if (error) return <Failure error={error} onRetry={() => void refetch()} />;
    if (data === undefined) return <Skeleton height="8rem" />;
    if (data.deliveries.length === 0) return <p className="muted">{w.none}</p>;
    return (
        <Table
            caption={w.caption}
            columns={COLUMNS}
            rows={data.deliveries}
            rowKey={({ sequence }) => String(sequence)}
        />
    );
}
