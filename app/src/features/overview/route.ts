// `/overview`: the state of the connected wallet at a look.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

export const overviewRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/overview',
    component: lazyRouteComponent(() => part(() => import('./OverviewPage')), 'OverviewPage'),
});
