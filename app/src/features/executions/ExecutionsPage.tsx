// `/executions`: what the connected wallet has called, or what others have called of its agents.

import type { Address } from '@solana/kit';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';

import { formatCount, plural } from '../../shared/figures';
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
import { Filters } from './Filters';
import { executionsQuery } from './query';
import { RefundableList } from './RefundableList';
import { type ExecutionsSearch, filterCount } from './search';
import { UnfinishedCalls } from './UnfinishedCalls';

const route = getRouteApi('/executions');

/** Rows in the place of the first page. */
const SKELETONS = 8;

export function ExecutionsPage() {
    const search = route.useSearch();
    return (
        <Page title="Executions">
            <SessionGate why="Executions are shown to the wallet that they belong to.">
                {(account) => <Executions key={account} account={account} search={search} />}
            </SessionGate>
        </Page>
    );
}

function Executions({ account, search }: { account: Address; search: ExecutionsSearch }) {
    const list = useInfiniteQuery(executionsQuery(account, search));
    const executions = list.data?.pages.flatMap((page) => page.executions);
    const total = list.data?.pages[0]?.total;
    const isCaller = search.role === undefined;
    return (
        <>
            {isCaller && <RefundableList account={account} />}
            {isCaller && <UnfinishedCalls account={account} known={executions} />}
            <Filters search={search} />
            <div className={styles.above}>
                <p className="small muted" role="status">
                    {total === undefined ? '\u00a0' : totalText(total, search)}
                </p>
                {total !== undefined && total > 0 && !list.isPlaceholderData && (
                    <CsvExport key={JSON.stringify(search)} account={account} search={search} total={total} />
                )}
            </div>
            {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
            {total === 0 && <NoExecutions search={search} />}
            <div className={styles.list} aria-busy={list.isFetching} data-old={list.isPlaceholderData}>
                {executions !== undefined && executions.length > 0 && (
                    <ExecutionTable executions={executions} role={search.role ?? 'caller'} />
                )}
                {list.isPending && (
                    <div className={styles.rows}>
                        {Array.from({ length: SKELETONS }, (_, index) => (
                            <Skeleton key={index} height="3rem" />
                        ))}
                    </div>
                )}
            </div>
            <More list={list} shown={executions?.length ?? 0} what="execution" />
        </>
    );
}

function totalText(total: number, search: ExecutionsSearch): string {
    if (filterCount(search) === 0) return plural(total, 'execution');
    return `${formatCount(total)} ${total === 1 ? 'execution matches' : 'executions match'}`;
}

function NoExecutions({ search }: { search: ExecutionsSearch }) {
    if (filterCount(search) > 0) {
        return (
            <Empty title="No execution matches">
                <p>Try another state, another agent, or a longer time.</p>
                <Link
                    to="/executions"
                    search={search.role === undefined ? {} : { role: search.role }}
                    className={buttonClass('primary')}
                >
                    Show all of them
                </Link>
            </Empty>
        );
    }
    return search.role === undefined ? (
        <Empty title="You have not called an agent yet">
            <p>Choose an agent, write what it shall do, and pay for one call. It appears here.</p>
            <Link to="/" className={buttonClass('primary')}>
                Find an agent
            </Link>
        </Empty>
    ) : (
        <Empty title="Nobody has called your agents yet">
            <p>A call of an agent that this wallet has listed appears here a moment after it is paid.</p>
        </Empty>
    );
}
