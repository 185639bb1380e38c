// All routes. A feature makes its own in `src/features/<thing>/route.ts`; its face exports them, and one line here adds
// each.

import type { QueryClient } from '@tanstack/react-query';
import { createRouter } from '@tanstack/react-router';

import { adminRoute } from '../features/admin';
import { agentRoute, runRoute } from '../features/agent';
import { browseRoute } from '../features/browse';
import { creatorRoute, ownAgentRoute } from '../features/creator';
import { publicCreatorRoute } from '../features/creators';
import { disputeRoutes } from '../features/disputes';
import { docsRoutes } from '../features/docs';
import { executionRoute } from '../features/execution';
import { executionsRoute } from '../features/executions';
import { explorerRoutes } from '../features/explorer';
import { keysRoute, newKeyRoute } from '../features/keys';
import { listingRoutes } from '../features/listing';
import { networkRoute } from '../features/network';
import { overviewRoute } from '../features/overview';
import { proofRoute } from '../features/proof';
import { statementRoute } from '../features/statement';
import { webhooksRoute } from '../features/webhooks';
import { rootRoute } from '../shared/rootRoute';
import { ErrorPage } from './ErrorPage';
import { NotFoundPage } from './NotFoundPage';
import { PendingPage } from './PendingPage';
import { parseSearch, stringifySearch } from './search';
import { Shell } from './Shell';

rootRoute.update({ component: Shell });

const routeTree = rootRoute.addChildren([
    browseRoute,
    agentRoute,
    runRoute,
    executionRoute,
    creatorRoute,
    publicCreatorRoute,
    ownAgentRoute,
    ...listingRoutes,
    networkRoute,
    ...docsRoutes,
    adminRoute,
    overviewRoute,
    statementRoute,
    executionsRoute,
    keysRoute,
    newKeyRoute,
    webhooksRoute,
    ...disputeRoutes,
    proofRoute,
    ...explorerRoutes,
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
