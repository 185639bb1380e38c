// `/`: the list of agents with its filters, below the home part for those who are new here.

import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';

import { useWallet, walletStore } from '../../shared/wallet/useWallet';
import { AgentList } from './AgentList';
import { Home } from './home/Home';
import { agentsQuery } from './query';
import { SearchBox } from './SearchBox';
import styles from './Browse.module.css';
import { words } from './words';

const route = getRouteApi('/');

export function BrowsePage() {
    const search = route.useSearch();
    const isHome = useIsNewHere() && search.q === undefined && search.creator === undefined;
    const { data } = useInfiniteQuery(agentsQuery(search));
    const agents = data?.pages.flatMap((page) => page.agents);
    return (
        <div className="stack">
            <title>{`${search.q === undefined ? words.title : words.searchTitle} · crtx`}</title>
            {isHome && <Home agents={agents} />}
            <div id="agents" className={styles.head}>
                {isHome ? <h2 className={styles.title}>{words.title}</h2> : <h1>{words.title}</h1>}
                <SearchBox q={search.q} />
            </div>
            <AgentList search={search} />
        </div>
    );
}

/** A wallet that is about to connect again belongs to somebody who knows what this is. */
const useIsNewHere = (): boolean => useWallet().connection === null && !walletStore().isChosen();
