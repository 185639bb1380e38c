// Whether the index keeps up with the chain, in words and in slots, and the processes that keep it.

import { queryOptions, useQuery } from '@tanstack/react-query';

import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
import { formatCount } from '../../shared/figures';
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
import { words } from './words';

type Status = Schemas['StatusResponse'];
type Process = Schemas['IndexerProcess'];

const w = words.status;

const STATES: Record<string, Required<Pick<NoticeProps, 'kind' | 'title'>> & { text: string }> = {
    live: { kind: 'good', ...w.live },
    degraded: { kind: 'warn', ...w.degraded },
    stale: { kind: 'bad', ...w.stale },
    starting: { kind: 'warn', ...w.starting },
};
const UNKNOWN = { kind: 'warn', ...w.other } as const;

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
    const { kind, title, text } = STATES[status] ?? UNKNOWN;
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
                <Figure name={w.lag}>{lag === null ? words.unknown : w.seconds(lag)}</Figure>
                <Figure name={w.indexSlot}>{slotText(indexed)}</Figure>
                <Figure name={w.chainSlot}>
                    {chainSlot !== undefined ? (
                        slotText(chainSlot)
                    ) : isError ? (
                        w.noAnswer
                    ) : network?.rpc_url === null ? (
                        w.noNode
                    ) : (
                        <Skeleton height="1.25rem" width="6rem" />
                    )}
                </Figure>
                <Figure name={w.finalSlot}>{slotText(finalized)}</Figure>
                <Figure name={w.lastChange}>
                    {last_change_at === null ? w.noneYet : <Time iso={last_change_at} />}
                </Figure>
                <Figure name={w.lastSnapshot}>
                    {last_snapshot_at === null ? w.noneYet : <Time iso={last_snapshot_at} />}
                </Figure>
            </Figures>
            {chainSlot !== undefined && indexed !== null && (
                <p className="small muted">{distanceText(chainSlot - indexed)}</p>
            )}
        </>
    );
}

const slotText = (slot: number | null): string => (slot === null ? words.unknown : formatCount(slot));

const distanceText = (slots: number): string => (slots <= 0 ? w.level : w.ahead(slots));

const COLUMNS = [
    { name: w.process, cell: ({ id }: Process) => <span className="mono">{visible(id.slice(0, 8))}</span> },
    { name: w.task, cell: ({ leads }: Process) => (leads ? w.writes : w.standsBy) },
    { name: w.node, cell: ({ source }: Process) => <UserText text={source} /> },
    {
        name: w.state,
        cell: ({ streaming, problems }: Process) => (
            <div>
                <Badge kind={streaming ? 'good' : 'warn'}>{streaming ? w.streaming : w.silent}</Badge>{' '}
                <UserText text={problems.map(({ message }) => message).join(' ')} />
            </div>
        ),
    },
    { name: w.since, cell: ({ started_at }: Process) => <Time iso={started_at} /> },
    { name: w.lastSeen, cell: ({ at }: Process) => <Time iso={at} /> },
];

const Processes = ({ processes }: { processes: readonly Process[] }) =>
    processes.length === 0 ? (
        <p className="muted">{w.noProcess}</p>
    ) : (
        <Table caption={w.processes} columns={COLUMNS} rows={processes} rowKey={({ id }) => id} />
    );
