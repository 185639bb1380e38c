// `/executions`: the executions of the connected wallet.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';
import { readSearch } from './search';

export const executionsRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/executions',
    validateSearch: readSearch,
    component: lazyRouteComponent(() => part(() => import('./ExecutionsPage')), 'ExecutionsPage'),
});
