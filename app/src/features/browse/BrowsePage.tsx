// `/`: the list of agents with its filters.

import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';

import { formatCount, plural } from '../../shared/figures';
import { buttonClass } from '../../shared/ui/Button';
import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { More } from '../../shared/ui/More';
import { useWallet, walletStore } from '../../shared/wallet/useWallet';
import { AgentCard, AgentCardSkeleton } from './AgentCard';
import { Filters } from './Filters';
import { Home } from './home/Home';
import { agentsQuery } from './query';
import { SearchBox } from './SearchBox';
import { type BrowseSearch, filterCount } from './search';
import styles from './Browse.module.css';

const route = getRouteApi('/');

/** Cards in the place of the first page. */
const SKELETONS = 6;

export function BrowsePage() {
    const search = route.useSearch();
    const isHome = useIsNewHere() && search.q === undefined && search.creator === undefined;
    const list = useInfiniteQuery(agentsQuery(search));
    const agents = list.data?.pages.flatMap((page) => page.agents);
    const total = list.data?.pages[0]?.total;
    return (
        <div className="stack">
            <title>{search.q === undefined ? 'Agents · crtx' : 'Search agents · crtx'}</title>
            {isHome && <Home agents={agents} />}
            <div id="agents" className={styles.head}>
                {isHome ? <h2 className={styles.title}>Agents</h2> : <h1>Agents</h1>}
                <SearchBox q={search.q} />
            </div>
            <Filters search={search} />
            <p className={`${styles.total} muted`} role="status">
                {total === undefined ? '\u00a0' : totalText(total, search)}
            </p>
            {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
            {total === 0 && <NoAgents search={search} />}
            <ul className={styles.cards} aria-busy={list.isFetching} data-old={list.isPlaceholderData}>
                {agents?.map((agent) => (
                    <AgentCard key={agent.agent_id} agent={agent} />
                ))}
                {list.isPending && Array.from({ length: SKELETONS }, (_, index) => <AgentCardSkeleton key={index} />)}
            </ul>
            <More list={list} shown={agents?.length ?? 0} what="agent" />
        </div>
    );
}

/** A wallet that is about to connect again belongs to somebody who knows what this is. */
const useIsNewHere = (): boolean => useWallet().connection === null && !walletStore().isChosen();

function totalText(total: number, search: BrowseSearch): string {
    const isWhole = search.q === undefined && filterCount(search) === 0;
    return isWhole ? plural(total, 'agent') : `${formatCount(total)} ${total === 1 ? 'agent matches' : 'agents match'}`;
}

const NoAgents = ({ search }: { search: BrowseSearch }) => {
    const isWhole = search.q === undefined && filterCount(search) === 0;
    return isWhole ? (
        <Empty title="No agent is listed yet">
            <p>An agent appears here as soon as its creator has listed it on chain.</p>
        </Empty>
    ) : (
        <Empty title="No agent matches">
            <p>Try fewer or other words, or fewer filters. Words may differ from yours by a letter or two.</p>
            <Link to="/" className={buttonClass('primary')}>
                Show all agents
            </Link>
        </Empty>
    );
};
