// `/agents/…`: one agent, and the address of its form.

import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';
import { loadAgent } from './query';

export const agentRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/agents/$agentId',
    loader: ({ context, params }) => loadAgent(context.queryClient, params.agentId),
    component: lazyRouteComponent(() => part(() => import('./AgentPage')), 'AgentPage'),
});

/** The form has been a page of its own, and links to it exist. */
export const runRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/agents/$agentId/run',
    beforeLoad: ({ params }) => redirect({ to: '/agents/$agentId', params, replace: true, throw: true }),
});
