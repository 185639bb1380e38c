// `/creators/…`: what anybody can know of a creator, by the address of the wallet.

import { createRoute, lazyRouteComponent, notFound } from '@tanstack/react-router';

import { isAddress } from '../../shared/address';
import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

export const publicCreatorRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/creators/$wallet',
    beforeLoad: ({ params }) => {
        if (!isAddress(params.wallet)) throw notFound();
    },
    component: lazyRouteComponent(() => part(() => import('./PublicCreatorPage')), 'PublicCreatorPage'),
});
