// `/agents/…`: one agent.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';
import { loadAgent } from './query';

export const agentRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/agents/$agentId',
    loader: ({ context, params }) => loadAgent(context.queryClient, params.agentId),
    component: lazyRouteComponent(() => part(() => import('./AgentPage')), 'AgentPage'),
});
