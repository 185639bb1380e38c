// `/executions`: what the connected wallet has called, or what others have called of its agents.

import type { Address } from '@solana/kit';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';

import { useReadAgain } from '../../shared/readAgain';
import { useTasks } from '../../shared/tasks';
import { buttonClass } from '../../shared/ui/Button';
import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { More } from '../../shared/ui/More';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { SessionGate } from '../wallet';
import { CsvExport } from './CsvExport';
import styles from './Executions.module.css';
import { ExecutionTable } from './ExecutionTable';
import { Filters, RoleChoice } from './Filters';
import { keyNamesQuery } from './keyNames';
import { LocalTasks } from './LocalTasks';
import { executionsQuery } from './query';
import { RefundableList } from './RefundableList';
import { type ExecutionsSearch, filterCount } from './search';
import { Spend } from './Spend';
import { figuresOf, isLonger, totalsQuery } from './totals';
import { TotalsRow } from './TotalsRow';
import { UnfinishedCalls } from './UnfinishedCalls';
import { words } from './words';

const route = getRouteApi('/executions');

/** Rows in the place of the first page. */
const SKELETONS = 8;

export function ExecutionsPage() {
    const search = route.useSearch();
    return (
        <Page title={words.title}>
            <SessionGate why={words.whySignIn}>
                {(account) => <Executions key={account} account={account} search={search} />}
            </SessionGate>
        </Page>
    );
}

function Executions({ account, search }: { account: Address; search: ExecutionsSearch }) {
    const list = useInfiniteQuery(executionsQuery(account, search));
    const totals = useQuery(totalsQuery(account, 'status', search));
    const { data: names } = useQuery({ ...keyNamesQuery(account), enabled: search.role === undefined });
    const tasks = useTasks(account);
    useReadAgain(list.isPlaceholderData ? undefined : list.data?.pages[0], ['execution-totals']);
    const executions = list.data?.pages.flatMap((page) => page.executions);
    const total = list.data?.pages[0]?.total;
    const isCaller = search.role === undefined;
    // Totals that the service cuts are only said to be cut where something is missing.
    const counted = totals.data && figuresOf(totals.data, search.status).executions;
    const isCut = isLonger(search, Date.now()) && counted !== undefined && total !== undefined && counted < total;
    const isKnown = total !== undefined && !list.isPlaceholderData;
    return (
        <>
            {isCaller && <RefundableList account={account} />}
            {isCaller && <UnfinishedCalls account={account} known={executions} />}
            <RoleChoice search={search} />
            <TotalsRow
                search={search}
                totals={totals.data}
                error={totals.error}
                isCut={isCut && isKnown}
                onRetry={() => void totals.refetch()}
            />
            <Filters search={search} totals={totals.data} />
            <div className={styles.above}>
                <p className="small muted" role="status">
                    {total === undefined ? '\u00a0' : totalText(total, search)}
                </p>
                {isKnown && total > 0 && (
                    <CsvExport key={JSON.stringify(search)} account={account} search={search} total={total} />
                )}
            </div>
            {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
            {total === 0 && <NoExecutions search={search} />}
            <div className={styles.list} aria-busy={list.isFetching} data-old={list.isPlaceholderData}>
                {executions !== undefined && executions.length > 0 && (
                    <ExecutionTable
                        executions={executions}
                        role={search.role ?? 'caller'}
                        names={names}
                        tasks={isCaller ? tasks : NO_TASKS}
                    />
                )}
                {list.isPending && (
                    <div className={styles.rows}>
                        {Array.from({ length: SKELETONS }, (_, index) => (
                            <Skeleton key={index} height="3rem" />
                        ))}
                    </div>
                )}
            </div>
            <More list={list} shown={executions?.length ?? 0} what={words.one} />
            {isCaller && tasks.size > 0 && <LocalTasks account={account} />}
            {executions !== undefined && executions.length > 0 && (
                <Spend account={account} search={search} names={names} isCut={isCut} />
            )}
        </>
    );
}

const NO_TASKS: ReadonlyMap<string, string> = new Map();

const totalText = (total: number, search: ExecutionsSearch): string =>
    filterCount(search) === 0 ? words.total(total) : words.matching(total);

function NoExecutions({ search }: { search: ExecutionsSearch }) {
    if (filterCount(search) > 0) {
        return (
            <Empty title={words.noMatch}>
                <p>{words.noMatchHint}</p>
                <Link
                    to="/executions"
                    search={search.role === undefined ? {} : { role: search.role }}
                    className={buttonClass('primary')}
                >
                    {words.showAll}
                </Link>
            </Empty>
        );
    }
    return search.role === undefined ? (
        <Empty title={words.noCalls}>
            <p>{words.noCallsHint}</p>
            <Link to="/" className={buttonClass('primary')}>
                {words.findAgent}
            </Link>
        </Empty>
    ) : (
        <Empty title={words.noCallers}>
            <p>{words.noCallersHint}</p>
        </Empty>
    );
}
