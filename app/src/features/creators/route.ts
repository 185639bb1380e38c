// `/creators/…`: what anybody can know of a creator, by the address of the wallet.

import { createRoute, lazyRouteComponent, notFound } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

export const publicCreatorRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/creators/$wallet',
    beforeLoad: ({ params }) => {
        if (!ADDRESS.test(params.wallet)) throw notFound();
    },
    component: lazyRouteComponent(() => part(() => import('./PublicCreatorPage')), 'PublicCreatorPage'),
});
