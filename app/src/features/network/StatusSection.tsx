// Whether the index keeps up with the chain, in words and in slots, and the processes that keep it.

import { queryOptions, useQuery } from '@tanstack/react-query';

import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
import { formatCount, plural } from '../../shared/figures';
import { part } from '../../shared/part';
import { UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Badge } from '../../shared/ui/Badge';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Notice, type NoticeProps } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import { Table } from '../../shared/ui/Table';
import { Time } from '../../shared/ui/Time';
import { SELDOM_MS } from '../../shared/seldom';

type Status = Schemas['StatusResponse'];
type Process = Schemas['IndexerProcess'];

const WORDS: Record<string, Required<Pick<NoticeProps, 'kind' | 'title'>> & { text: string }> = {
    live: { kind: 'good', title: 'Live', text: 'The index follows the chain, and nothing is wrong.' },
    degraded: {
        kind: 'warn',
        title: 'Live, with problems',
        text: 'The index follows the chain. What is wrong is below.',
    },
    stale: {
        kind: 'bad',
        title: 'Behind',
        text: 'The index receives no changes at present, so lists may be old. Prices, balances and terms are read from the chain itself before you sign.',
    },
    starting: {
        kind: 'warn',
        title: 'Starting',
        text: 'The index reads the chain for the first time. Lists are complete in a moment.',
    },
};
const UNKNOWN = {
    kind: 'warn',
    title: 'Unknown',
    text: 'The service reports a state that this page does not know.',
} as const;

export const StatusSection = ({ status }: { status: Status }) => (
    <>
        <div role="status">
            <State status={status} />
        </div>
        <Slots status={status} />
        <Processes processes={status.processes} />
    </>
);

function State({ status: { status, problems } }: { status: Status }) {
    const { kind, title, text } = WORDS[status] ?? UNKNOWN;
    return (
        <Notice kind={kind} title={title}>
            <p>{text}</p>
            {problems.length > 0 && (
                <ul>
                    {problems.map(({ code, message }) => (
                        <li key={code}>
                            <UserText text={message} />
                        </li>
                    ))}
                </ul>
            )}
        </Notice>
    );
}

/** Read by this page from the node, and not by the service. */
const slotQuery = (rpcUrl: string | null) =>
    queryOptions({
        queryKey: ['slot', rpcUrl] as const,
        queryFn: async () => {
            const { createSolanaRpc } = await part(() => import('@solana/kit'));
            return Number(
                await createSolanaRpc(rpcUrl ?? '')
                    .getSlot({ commitment: 'confirmed' })
                    .send(),
            );
        },
        enabled: rpcUrl !== null,
        refetchInterval: SELDOM_MS,
    });

function Slots({ status }: { status: Status }) {
    const { data: network } = useQuery(networkQuery);
    const rpcUrl = network?.rpc_url ?? null;
    const { data: chainSlot, isError } = useQuery(slotQuery(rpcUrl));
    const {
        indexed_slot: indexed,
        finalized_slot: finalized,
        lag_seconds: lag,
        last_change_at,
        last_snapshot_at,
    } = status;
    return (
        <>
            <Figures>
                <Figure name="Behind by at most">{lag === null ? '–' : plural(lag, 'second')}</Figure>
                <Figure name="Slot of the index">{slotText(indexed)}</Figure>
                <Figure name="Slot of the chain, read here">
                    {chainSlot !== undefined ? (
                        slotText(chainSlot)
                    ) : isError ? (
                        'The node does not answer'
                    ) : network?.rpc_url === null ? (
                        'No node is named'
                    ) : (
                        <Skeleton height="1.25rem" width="6rem" />
                    )}
                </Figure>
                <Figure name="Newest final slot">{slotText(finalized)}</Figure>
                <Figure name="Last change">
                    {last_change_at === null ? 'none yet' : <Time iso={last_change_at} />}
                </Figure>
                <Figure name="Last snapshot">
                    {last_snapshot_at === null ? 'none yet' : <Time iso={last_snapshot_at} />}
                </Figure>
            </Figures>
            {chainSlot !== undefined && indexed !== null && (
                <p className="small muted">{distanceText(chainSlot - indexed)}</p>
            )}
        </>
    );
}

const slotText = (slot: number | null): string => (slot === null ? '–' : formatCount(slot));

const distanceText = (slots: number): string =>
    slots <= 0
        ? 'The index has seen every slot that this page sees.'
        : `The chain is ${plural(slots, 'slot')} further. Slots without a change of the marketplace are confirmed only from time to time.`;

const COLUMNS = [
    { name: 'Process', cell: ({ id }: Process) => <span className="mono">{visible(id.slice(0, 8))}</span> },
    { name: 'Task', cell: ({ leads }: Process) => (leads ? 'Writes the index' : 'Stands by') },
    { name: 'Node', cell: ({ source }: Process) => <UserText text={source} /> },
    {
        name: 'State',
        cell: ({ streaming, problems }: Process) => (
            <div>
                <Badge kind={streaming ? 'good' : 'warn'}>{streaming ? 'Receives events' : 'No events'}</Badge>{' '}
                <UserText text={problems.map(({ message }) => message).join(' ')} />
            </div>
        ),
    },
    { name: 'Since', cell: ({ started_at }: Process) => <Time iso={started_at} /> },
    { name: 'Last sign of life', cell: ({ at }: Process) => <Time iso={at} /> },
];

const Processes = ({ processes }: { processes: readonly Process[] }) =>
    processes.length === 0 ? (
        <p className="muted">No process of the index has reported yet.</p>
    ) : (
        <Table caption="Processes of the index" columns={COLUMNS} rows={processes} rowKey={({ id }) => id} />
    );
