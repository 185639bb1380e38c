// Registers the built-in wallet, only on the local network.

import { type Address, getAddressEncoder } from '@solana/kit';
import { registerWallet } from '@wallet-standard/wallet';

import { demoKeys, ownKey } from './keys';
import { LocalWallet } from './wallet';

/** The caller is first: the account that a newcomer needs. */
export async function registerLocalWallet(): Promise<void> {
    const demo = await demoKeys();
    const own = await ownKey().catch(() => null);
    const publicKeyOf = (address: string): Uint8Array => new Uint8Array(getAddressEncoder().encode(address as Address));
    registerWallet(new LocalWallet(own === null ? demo : [...demo, own], publicKeyOf));
}
