// The marketplace that the tests of a file use.

import { inject } from 'vitest';

import type { Network } from './network';

/** The network of this worker. Files of one worker run one after the other, so they can share its wallets. */
export function ownNetwork(): Network {
    const networks = inject('networks');
    const network = networks[(Number(process.env['VITEST_POOL_ID']) - 1) % networks.length];
    if (network === undefined) throw new Error('Each worker has a network.');
    return network;
}
