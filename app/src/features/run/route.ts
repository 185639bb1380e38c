// `/agents/…/run`: pay for one call of an agent.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';
import { loadAgent } from '../agent';

export const runRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/agents/$agentId/run',
    loader: ({ context, params }) => loadAgent(context.queryClient, params.agentId),
    component: lazyRouteComponent(() => part(() => import('./RunPage')), 'RunPage'),
});
