// `/keys`: the API keys of a wallet. `/keys/new`: a new one.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { rootRoute } from '../../app/root';

export const keysRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/keys',
    component: lazyRouteComponent(() => import('./KeysPage'), 'KeysPage'),
});

export const newKeyRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/keys/new',
    component: lazyRouteComponent(() => import('./NewKeyPage'), 'NewKeyPage'),
});
