// When the built-in wallet is loaded. Its libraries are large, and what a page shows first does not need them.

import { part } from '../../part';

let loading: Promise<void> | undefined;

/** Registers the built-in wallet, once. Without it the page still works with other wallets, so this never fails. */
export const loadLocalWallet = (): Promise<void> =>
    (loading ??= part(() => import('./register'))
        .then(({ registerLocalWallet }) => registerLocalWallet())
        .catch((error: unknown) => console.info('There is no local test wallet:', error)));
