// All routes. A feature adds its own in `src/features/<thing>/route.ts` and one line here.

import type { QueryClient } from '@tanstack/react-query';
import { createRouter } from '@tanstack/react-router';

import { adminRoute } from '../features/admin/route';
import { agentRoute } from '../features/agent/route';
import { browseRoute } from '../features/browse/route';
import { creatorRoute, ownAgentRoute } from '../features/creator/route';
import { disputeRoutes } from '../features/disputes/route';
import { docsRoute } from '../features/docs/route';
import { executionRoute } from '../features/execution/route';
import { executionsRoute } from '../features/executions/route';
import { keysRoute, newKeyRoute } from '../features/keys/route';
import { listingRoutes } from '../features/listing/route';
import { networkRoute } from '../features/network/route';
import { runRoute } from '../features/run/route';
import { ErrorPage } from './ErrorPage';
import { NotFoundPage } from './NotFoundPage';
import { PendingPage } from './PendingPage';
import { rootRoute } from './root';
import { parseSearch, stringifySearch } from './search';

const routeTree = rootRoute.addChildren([
    browseRoute,
    agentRoute,
    runRoute,
    executionRoute,
    creatorRoute,
    ownAgentRoute,
    ...listingRoutes,
    networkRoute,
    docsRoute,
    adminRoute,
    executionsRoute,
    keysRoute,
    newKeyRoute,
    ...disputeRoutes,
]);

export const makeRouter = (queryClient: QueryClient) =>
    createRouter({
        routeTree,
        context: { queryClient },
        parseSearch,
        stringifySearch,
        defaultErrorComponent: ErrorPage,
        defaultNotFoundComponent: NotFoundPage,
        defaultPendingComponent: PendingPage,
        defaultPendingMs: 150,
        defaultPreload: 'intent',
        // Queries decide what is fresh.
        defaultPreloadStaleTime: 0,
        scrollRestoration: true,
    });
