// `/`: all agents.

import { createRoute } from '@tanstack/react-router';

import { rootRoute } from '../../shared/rootRoute';
import { BrowsePage } from './BrowsePage';
import { agentsQuery } from './query';
import { readSearch } from './search';

export const browseRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/',
    validateSearch: readSearch,
    loaderDeps: ({ search }) => search,
    // Not awaited: the page shows skeletons of its own, and keeps the list while a search is typed.
    loader: ({ context, deps }) => void context.queryClient.infiniteQuery(agentsQuery(deps)).catch(() => undefined),
    // Not loaded on demand: it is the first page of most visits.
    component: BrowsePage,
});
