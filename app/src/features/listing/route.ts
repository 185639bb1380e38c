// `/creator/new`, `/creator/agents/…/edit` and `/creator/agents/…/test`: what a creator writes about an agent, and
// whether its service answers as it must.

import { createRoute, lazyRouteComponent, notFound } from '@tanstack/react-router';

import { isAddress } from '../../shared/address';
import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';
import { type Step, STEPS } from './steps';

const onlyAddresses = ({ params }: { params: { agentId: string } }): void => {
    if (!isAddress(params.agentId)) throw notFound();
};

export const newAgentRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/creator/new',
    validateSearch: ({ step }: Record<string, unknown>): { step?: Step } => {
        const found = STEPS.find((known) => known === step);
        return found === undefined ? {} : { step: found };
    },
    component: lazyRouteComponent(() => part(() => import('./NewAgentPage')), 'NewAgentPage'),
});

export const editAgentRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/creator/agents/$agentId/edit',
    beforeLoad: onlyAddresses,
    component: lazyRouteComponent(() => part(() => import('./EditAgentPage')), 'EditAgentPage'),
});

export const testAgentRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/creator/agents/$agentId/test',
    beforeLoad: onlyAddresses,
    component: lazyRouteComponent(() => part(() => import('./TestAgentPage')), 'TestAgentPage'),
});

export const listingRoutes = [newAgentRoute, editAgentRoute, testAgentRoute] as const;
