// The agents that match, as cards or as a table, with their filters and the way on to the next page.

import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';

import { buttonClass } from '../../shared/ui/Button';
import { Chips } from '../../shared/ui/Chips';
import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { More } from '../../shared/ui/More';
import { AgentCard, AgentCardSkeleton } from './AgentCard';
import { AgentTable } from './AgentTable';
import { Filters } from './Filters';
import { agentsQuery } from './query';
import { type BrowseSearch, filterCount, readSearch } from './search';
import styles from './Browse.module.css';
import { words } from './words';

/** Cards in the place of the first page. */
const SKELETONS = 6;

export function AgentList({ search }: { search: BrowseSearch }) {
    const list = useInfiniteQuery(agentsQuery(search));
    const agents = list.data?.pages.flatMap((page) => page.agents);
    const total = list.data?.pages[0]?.total;
    const isTable = search.view === 'table' && agents !== undefined && agents.length > 0;
    return (
        <>
            <Filters search={search} />
            <div className={styles.above}>
                <p className={`${styles.total} muted`} role="status">
                    {total === undefined ? '\u00a0' : totalText(total, search)}
                </p>
                <ViewChoice search={search} />
            </div>
            {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
            {total === 0 && <NoAgents search={search} />}
            {isTable ? (
                <div className={styles.list} aria-busy={list.isFetching} data-old={list.isPlaceholderData}>
                    <AgentTable agents={agents} />
                </div>
            ) : (
                <ul className={styles.cards} aria-busy={list.isFetching} data-old={list.isPlaceholderData}>
                    {agents?.map((agent) => (
                        <AgentCard key={agent.agent_id} agent={agent} />
                    ))}
                    {list.isPending &&
                        Array.from({ length: SKELETONS }, (_, index) => <AgentCardSkeleton key={index} />)}
                </ul>
            )}
            <More list={list} shown={agents?.length ?? 0} what={words.one} />
        </>
    );
}

function ViewChoice({ search }: { search: BrowseSearch }) {
    const navigate = useNavigate();
    return (
        <Chips
            label={words.view}
            chips={(['cards', 'table'] as const).map((view) => ({ value: view, name: words.views[view] }))}
            isChosen={(view) => view === (search.view ?? 'cards')}
            onChoose={(view) =>
                void navigate({
                    to: '/',
                    search: (previous) => readSearch({ ...previous, view }),
                    replace: true,
                    resetScroll: false,
                })
            }
        />
    );
}

/** Neither searched nor filtered. */
const isWhole = (search: BrowseSearch): boolean => search.q === undefined && filterCount(search) === 0;

const totalText = (total: number, search: BrowseSearch): string =>
    isWhole(search) ? words.total(total) : words.matching(total);

const NoAgents = ({ search }: { search: BrowseSearch }) =>
    isWhole(search) ? (
        <Empty title={words.noAgents}>
            <p>{words.noAgentsHint}</p>
        </Empty>
    ) : (
        <Empty title={words.noMatch}>
            <p>{words.noMatchHint}</p>
            <Link to="/" className={buttonClass('primary')}>
                {words.showAll}
            </Link>
        </Empty>
    );
