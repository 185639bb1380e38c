// `/statement`: what a wallet bought or sold in a month, to print and to file.

import { createRoute, lazyRouteComponent } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { rootRoute } from '../../shared/rootRoute';
import { readStatementSearch } from './month';

export const statementRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/statement',
    validateSearch: readStatementSearch,
    component: lazyRouteComponent(() => part(() => import('./StatementPage')), 'StatementPage'),
});
