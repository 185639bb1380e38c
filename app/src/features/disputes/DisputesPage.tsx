// `/disputes`: the disputes of the connected wallet, what waits for whom, and until when.

import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';

import { networkQuery } from '../../shared/api/queries';
import { formatCount } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import { Badge } from '../../shared/ui/Badge';
import { buttonClass } from '../../shared/ui/Button';
import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { More } from '../../shared/ui/More';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { Table } from '../../shared/ui/Table';
import { Time } from '../../shared/ui/Time';
import { SessionGate } from '../wallet';
import { Due } from './Due';
import styles from './Disputes.module.css';
import { type Dispute, disputeCountQuery, disputesQuery } from './query';
import { type DisputesSearch, type Role, STATUSES } from './search';
import { type Part, STATUS_KINDS, type Turn, partsOf, turnOf } from './state';
import { words } from './words';

const t = words.list;

const route = getRouteApi('/disputes');

export function DisputesPage() {
    const search = route.useSearch();
    return (
        <Page title={t.title}>
            <SessionGate why={t.whySignIn}>
                {(wallet) => <Disputes key={wallet} wallet={wallet} search={search} />}
            </SessionGate>
        </Page>
    );
}

function Disputes({ wallet, search }: { wallet: string; search: DisputesSearch }) {
    const { data: network } = useQuery(networkQuery);
    const list = useInfiniteQuery(disputesQuery(wallet, search));
    const disputes = list.data?.pages.flatMap((page) => page.disputes);
    const total = list.data?.pages[0]?.total;
    const resolver = network?.roles.resolver ?? undefined;
    return (
        <>
            <div className={styles.bar}>
                <RoleLinks search={search} isResolver={resolver === wallet} />
                {(search.role === undefined || search.role === 'caller') && (
                    <Link to="/disputes/new" className={buttonClass()}>
                        {words.raise}
                    </Link>
                )}
            </div>
            <StatusLinks wallet={wallet} search={search} />
            <p className="small muted" role="status">
                {total === undefined ? '\u00a0' : t.total(total)}
            </p>
            {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
            {list.isPending && <Skeleton height="16rem" />}
            {total === 0 && <None search={search} />}
            {disputes !== undefined && disputes.length > 0 && (
                <div className={styles.list} aria-busy={list.isFetching} data-old={list.isPlaceholderData}>
                    <Rows disputes={disputes} wallet={wallet} resolver={resolver} />
                </div>
            )}
            {total !== undefined && <More list={list} shown={disputes?.length ?? 0} what={t.one} />}
        </>
    );
}

const Rows = ({
    disputes,
    wallet,
    resolver,
}: {
    disputes: readonly Dispute[];
    wallet: string;
    resolver: string | undefined;
}) => {
    const now = Date.now() / 1_000;
    return (
        <Table
            caption={t.title}
            rows={disputes}
            rowKey={({ dispute }) => dispute}
            columns={[
                {
                    name: t.about,
                    cell: ({ dispute, agent_name, execution_id }) => (
                        <Link to="/disputes/$disputeId" params={{ disputeId: dispute }} className={styles.subject}>
                            <UserText text={agent_name} />
                            <span className="small mono">{short(execution_id, 8)}</span>
                        </Link>
                    ),
                },
                {
                    name: t.youAre,
                    cell: (dispute) =>
                        partsOf(dispute, resolver, wallet)
                            .map((part) => words.parts[part])
                            .join(', '),
                },
                {
                    name: t.state,
                    cell: ({ status }) => <Badge kind={STATUS_KINDS[status]}>{words.statuses[status]}</Badge>,
                },
                {
                    name: t.waitsFor,
                    cell: (dispute) =>
                        dispute.status === 'open' ? (
                            <Waits turn={turnOf(dispute, now)} parts={partsOf(dispute, resolver, wallet)} />
                        ) : (
                            <Result dispute={dispute} />
                        ),
                },
                {
                    name: t.due,
                    cell: (dispute) =>
                        dispute.resolved_at === null ? <Due dispute={dispute} /> : <Time iso={dispute.resolved_at} />,
                },
                { name: words.paidUsdc, isNumber: true, cell: ({ amount_usdc }) => formatUsdc(amount_usdc) },
            ]}
        />
    );
};

/** Highlights the disputes in which it is the wallet's turn. */
const Waits = ({ turn, parts }: { turn: Turn; parts: readonly Part[] }) =>
    parts.some((part) => part === turn) && !(turn === 'resolver' && parts.includes('caller')) ? (
        <Badge kind="accent">{turn === 'creator' ? t.yourAnswer : t.yourDecision}</Badge>
    ) : (
        words.turns[turn]
    );

const Result = ({ dispute: { status, compensation_usdc } }: { dispute: Dispute }) =>
    status === 'upheld' || compensation_usdc > 0n
        ? t.toCaller(compensation_usdc)
        : status === 'abusive'
          ? t.bondToCreator
          : t.bondBack;

/** The router marks the link of the page that is shown; with parts of its search it would mark several. */
const EXACT = { exact: true, includeSearch: true };

type RoleChoice = { role?: Role; label: string };

/** Links and not tabs: each is a page of its own, with its own address. */
function RoleLinks({ search, isResolver }: { search: DisputesSearch; isResolver: boolean }) {
    const choices: RoleChoice[] = [
        { label: t.roles.all },
        { role: 'caller', label: t.roles.caller },
        { role: 'creator', label: t.roles.creator },
        ...(isResolver || search.role === 'resolver' ? [{ role: 'resolver' as const, label: t.roles.resolver }] : []),
    ];
    return (
        <nav aria-label={t.yourPart} className={styles.choices}>
            {choices.map(({ role, label }) => (
                <Link
                    key={label}
                    to="/disputes"
                    // A resolver looks for what is open.
                    search={
                        role === 'resolver'
                            ? { role, status: 'open' }
                            : { ...(role && { role }), ...(search.status && { status: search.status }) }
                    }
                    aria-current={search.role === role ? 'page' : undefined}
                    activeOptions={EXACT}
                    className={styles.choice}
                >
                    {label}
                </Link>
            ))}
        </nav>
    );
}

const StatusLinks = ({ wallet, search: { role, status } }: { wallet: string; search: DisputesSearch }) => (
    <nav aria-label={t.state} className={styles.choices}>
        {[undefined, ...STATUSES].map((choice) => (
            <Link
                key={choice ?? 'all'}
                to="/disputes"
                search={{ ...(role && { role }), ...(choice && { status: choice }) }}
                aria-current={choice === status ? 'page' : undefined}
                activeOptions={EXACT}
                className={styles.choice}
            >
                {choice === undefined ? t.everyState : words.statuses[choice]}{' '}
                <Count wallet={wallet} search={{ ...(role && { role }), ...(choice && { status: choice }) }} />
            </Link>
        ))}
    </nav>
);

function Count({ wallet, search }: { wallet: string; search: DisputesSearch }) {
    const { data: count } = useQuery(disputeCountQuery(wallet, search));
    return <span className={`${styles.count} number`}>{count === undefined ? '\u2007' : formatCount(count)}</span>;
}

function None({ search: { role, status } }: { search: DisputesSearch }) {
    const isFiltered = status !== undefined && role !== 'resolver';
    return (
        <Empty title={isFiltered ? t.noneWith(status) : t.none}>
            <p>{isFiltered ? t.otherState : t.nothing[role ?? 'caller']}</p>
            {isFiltered && (
                <Link to="/disputes" search={{ ...(role && { role }) }} className={buttonClass('primary')}>
                    {t.showAll}
                </Link>
            )}
        </Empty>
    );
}
