// `/executions/…`: one execution.

import { createRoute, lazyRouteComponent, notFound } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const executionRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/executions/$executionId',
    beforeLoad: ({ params }) => {
        if (!UUID.test(params.executionId)) throw notFound();
    },
    component: lazyRouteComponent(() => part(() => import('./ExecutionPage')), 'ExecutionPage'),
});
