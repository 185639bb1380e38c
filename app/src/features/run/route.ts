// `/agents/…/run`: pay for one call of an agent.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { rootRoute } from '../../app/root';
import { part } from '../../shared/part';
import { loadAgent } from '../agent/query';

export const runRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/agents/$agentId/run',
    loader: ({ context, params }) => loadAgent(context.queryClient, params.agentId),
    component: lazyRouteComponent(() => part(() => import('./RunPage')), 'RunPage'),
});
