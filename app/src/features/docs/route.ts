// `/docs`: the documents of the repository, and the HTTP API to read and to try.

import { createRoute, lazyRouteComponent, notFound, redirect } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';
import { isDocument, loadDocument } from './documents';

/** Links to an operation have been `/docs#get-v1-agents`. */
const docsRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/docs',
    beforeLoad: ({ location: { hash } }) => {
        if (hash === '') redirect({ to: '/docs/$document', params: { document: 'buy' }, replace: true, throw: true });
        redirect({ to: '/docs/api', hash, replace: true, throw: true });
    },
});

const apiRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/docs/api',
    loader: async ({ context }) => {
        const { referenceQuery } = await part(() => import('./query'));
        await context.queryClient.query({ ...referenceQuery, staleTime: 'static' });
    },
    component: lazyRouteComponent(() => part(() => import('./ApiPage')), 'ApiPage'),
});

const documentRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/docs/$document',
    loader: ({ params: { document } }) => {
        if (!isDocument(document)) throw notFound();
        return loadDocument(document);
    },
    component: lazyRouteComponent(() => part(() => import('./DocumentPage')), 'DocumentPage'),
});

export const docsRoutes = [docsRoute, apiRoute, documentRoute];
