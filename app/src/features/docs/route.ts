// `/docs`: the HTTP API of the service, to read and to try.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { rootRoute } from '../../app/root';
import { part } from '../../shared/part';

export const docsRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/docs',
    loader: async ({ context }) => {
        const { referenceQuery } = await part(() => import('./query'));
        await context.queryClient.query({ ...referenceQuery, staleTime: 'static' });
    },
    component: lazyRouteComponent(() => part(() => import('./DocsPage')), 'DocsPage'),
});
