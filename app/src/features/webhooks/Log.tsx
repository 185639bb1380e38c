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

const STATES: Record<string, { words: string; kind: NonNullable<BadgeProps['kind']> }> = {
    waiting: { words: 'Waiting', kind: 'accent' },
    acknowledged: { words: 'Acknowledged', kind: 'good' },
    given_up: { words: 'Given up', kind: 'bad' },
};

const COLUMNS: readonly Column<Delivery>[] = [
    { name: 'Event', cell: ({ sequence }) => sequence, isNumber: true },
    { name: 'Type', cell: ({ type }) => <UserText text={type} /> },
    {
        name: 'State',
        cell: ({ state }) => <Badge kind={STATES[state]?.kind ?? 'plain'}>{STATES[state]?.words ?? state}</Badge>,
    },
    { name: 'Attempts', cell: ({ attempts }) => attempts, isNumber: true },
    {
        name: 'Last attempt',
        cell: ({ attempted_at: at }) => (at === null ? 'None yet' : <ExactTime at={at} />),
    },
    { name: 'Status', cell: ({ status }) => status ?? '–', isNumber: true },
    { name: 'Took', cell: ({ duration_ms: ms }) => (ms === null ? '–' : formatMs(ms)), isNumber: true },
    { name: 'Answer', cell: ({ answer }) => (answer === null || answer === '' ? '–' : <UserText text={answer} />) },
];

export function Log({ account, webhookId }: { account: string; webhookId: string }) {
    const { data, error, refetch } = useQuery(logQuery(account, webhookId));
    if (error) return <Failure error={error} onRetry={() => void refetch()} />;
    if (data === undefined) return <Skeleton height="8rem" />;
    if (data.deliveries.length === 0) return <p className="muted">No event has happened since the webhook was made.</p>;
    return (
        <Table
            caption="The newest deliveries"
            columns={COLUMNS}
            rows={data.deliveries}
            rowKey={({ sequence }) => String(sequence)}
        />
    );
}
