// `/explorer/…`: transactions and accounts of a local network, which no public explorer can see.

import { createRoute, lazyRouteComponent, notFound } from '@tanstack/react-router';

import { isAddress } from '../../shared/address';
import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';

const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

const transactionRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/explorer/tx/$signature',
    beforeLoad: ({ params }) => {
        if (!SIGNATURE.test(params.signature)) throw notFound();
    },
    component: lazyRouteComponent(() => part(() => import('./TransactionPage')), 'TransactionPage'),
});

const accountRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/explorer/account/$address',
    beforeLoad: ({ params }) => {
        if (!isAddress(params.address)) throw notFound();
    },
    component: lazyRouteComponent(() => part(() => import('./AccountPage')), 'AccountPage'),
});

export const explorerRoutes = [transactionRoute, accountRoute];
