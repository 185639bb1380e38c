// `/network`: the state of the service, of its index, and of the program.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

export const networkRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/network',
    component: lazyRouteComponent(() => part(() => import('./NetworkPage')), 'NetworkPage'),
});
