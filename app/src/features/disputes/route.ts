// `/disputes`: the disputes of a wallet; `/disputes/new` raises one; `/disputes/…` is one of them.

import { createRoute, lazyRouteComponent, notFound } from '@tanstack/react-router';

import { isAddress } from '../../shared/address';
import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';
import { readDisputesSearch, readNewDisputeSearch } from './search';

const listRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/disputes',
    validateSearch: readDisputesSearch,
    component: lazyRouteComponent(() => part(() => import('./DisputesPage')), 'DisputesPage'),
});

const newRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/disputes/new',
    validateSearch: readNewDisputeSearch,
    component: lazyRouteComponent(() => part(() => import('./NewDisputePage')), 'NewDisputePage'),
});

/** The address of the dispute, or of the record of its execution. */
const oneRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/disputes/$disputeId',
    beforeLoad: ({ params }) => {
        if (!isAddress(params.disputeId)) throw notFound();
    },
    component: lazyRouteComponent(() => part(() => import('./DisputePage')), 'DisputePage'),
});

export const disputeRoutes = [listRoute, newRoute, oneRoute] as const;
