// The page's one wallet store, for components.

import { useSyncExternalStore } from 'react';

import { type WalletState, WalletStore } from './store';

let store: WalletStore | undefined;

/** Made at the first use, because wallets register themselves with the window. */
export const walletStore = (): WalletStore => (store ??= new WalletStore());

export const useWallet = (): WalletState => useSyncExternalStore(walletStore().subscribe, walletStore().get);
