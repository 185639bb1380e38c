// `/webhooks`: where the connected wallet has its events sent.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

export const webhooksRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/webhooks',
    component: lazyRouteComponent(() => part(() => import('./WebhooksPage')), 'WebhooksPage'),
});
