// `/executions`: the executions of the connected wallet.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { rootRoute } from '../../app/root';
import { part } from '../../shared/part';
import { readSearch } from './search';

export const executionsRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/executions',
    validateSearch: readSearch,
    component: lazyRouteComponent(() => part(() => import('./ExecutionsPage')), 'ExecutionsPage'),
});
