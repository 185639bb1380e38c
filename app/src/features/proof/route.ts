// `/proof/…`: the public proof of one execution, by the address of its record.

import { createRoute, lazyRouteComponent, notFound } from '@tanstack/react-router';

import { part } from '../../shared/part';
import { isKnownNetwork } from '../../shared/proofLink';
import { rootRoute } from '../../shared/rootRoute';
import type { LinkHints } from './node';

const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

const hintsOf = ({ network, node }: Record<string, unknown>): LinkHints => ({
    ...(typeof network === 'string' && isKnownNetwork(network) ? { network } : {}),
    ...(typeof node === 'string' ? { node } : {}),
});

export const proofRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/proof/$record',
    validateSearch: hintsOf,
    beforeLoad: ({ params }) => {
        if (!ADDRESS.test(params.record)) throw notFound();
    },
    // The document of a proof may ask hosts that its reader names. The next page gets a document that may not.
    onLeave: () => window.location.reload(),
    component: lazyRouteComponent(() => part(() => import('./ProofPage')), 'ProofPage'),
});
