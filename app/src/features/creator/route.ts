// `/creator` and `/creator/agents/…`: a creator's own agents.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';
import { readTab } from './manage/tabs';

export const creatorRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/creator',
    component: lazyRouteComponent(() => part(() => import('./CreatorPage')), 'CreatorPage'),
});

export const ownAgentRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/creator/agents/$agentId',
    validateSearch: readTab,
    component: lazyRouteComponent(() => part(() => import('./manage/OwnAgentPage')), 'OwnAgentPage'),
});
