// `/docs`: the HTTP API of the service, to read and to try.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

export const docsRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/docs',
    loader: async ({ context }) => {
        const { referenceQuery } = await part(() => import('./query'));
        await context.queryClient.query({ ...referenceQuery, staleTime: 'static' });
    },
    component: lazyRouteComponent(() => part(() => import('./DocsPage')), 'DocsPage'),
});
