// `/keys`: the API keys of a wallet. `/keys/new`: a new one.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

export const keysRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/keys',
    component: lazyRouteComponent(() => part(() => import('./KeysPage')), 'KeysPage'),
});

export const newKeyRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/keys/new',
    component: lazyRouteComponent(() => part(() => import('./NewKeyPage')), 'NewKeyPage'),
});
