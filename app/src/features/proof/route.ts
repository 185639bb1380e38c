// `/proof/…`: the public proof of one execution, by the address of its record.

import { createRoute, lazyRouteComponent, notFound } from '@tanstack/react-router';

import { isAddress } from '../../shared/address';
import { part } from '../../shared/part';
import { isKnownNetwork } from '../../shared/proofLink';
import { rootRoute } from '../../shared/rootRoute';
import type { LinkHints } from './node';

const hintsOf = ({ network, node }: Record<string, unknown>): LinkHints => ({
    ...(typeof network === 'string' && isKnownNetwork(network) ? { network } : {}),
    ...(typeof node === 'string' ? { node } : {}),
});

export const proofRoute = createRoute({
    getParentRoute: () => rootRoute,
    path: '/proof/$record',
    validateSearch: hintsOf,
    beforeLoad: ({ params }) => {
        if (!isAddress(params.record)) throw notFound();
    },
    // The document of a proof may ask hosts that its reader names. The next page gets a document that may not.
    onLeave: () => window.location.reload(),
    component: lazyRouteComponent(() => part(() => import('./ProofPage')), 'ProofPage'),
});
