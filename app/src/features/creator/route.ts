// `/creator` and `/creator/agents/…`: a creator's own agents.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

export const creatorRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/creator',
    component: lazyRouteComponent(() => part(() => import('./CreatorPage')), 'CreatorPage'),
});

export const ownAgentRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/creator/agents/$agentId',
    component: lazyRouteComponent(() => part(() => import('./manage/OwnAgentPage')), 'OwnAgentPage'),
});
