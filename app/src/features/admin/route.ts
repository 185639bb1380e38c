// `/admin`: what the admin of the marketplace may change. `creator`: the wallet that is looked at.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

export type AdminSearch = { readonly creator?: string };

export const adminRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/admin',
    validateSearch: ({ creator }: Record<string, unknown>): AdminSearch =>
        typeof creator === 'string' ? { creator } : {},
    component: lazyRouteComponent(() => part(() => import('./AdminPage')), 'AdminPage'),
});
