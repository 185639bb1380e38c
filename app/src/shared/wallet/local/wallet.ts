// The built-in wallet of the local network, as any other wallet of the wallet standard. It signs without a question,
// because nothing there has a value.

import { getTransactionDecoder, getTransactionEncoder, partiallySignTransaction, signBytes } from '@solana/kit';
import {
    SolanaSignMessage,
    type SolanaSignMessageMethod,
    SolanaSignTransaction,
    type SolanaSignTransactionMethod,
} from '@solana/wallet-standard-features';
import type { IdentifierArray, Wallet, WalletAccount } from '@wallet-standard/base';
import {
    StandardConnect,
    StandardDisconnect,
    StandardEvents,
    type StandardEventsListeners,
    type StandardEventsOnMethod,
} from '@wallet-standard/features';

import type { LocalKey } from './keys';
import { LOCAL_WALLET } from './name';
import { words } from '../../words';

const CHAINS: IdentifierArray = ['solana:localnet'];
const FEATURES: IdentifierArray = [SolanaSignMessage, SolanaSignTransaction];
const ICON =
    'data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAzMiAzMiI+PHJlY3Qgd2lkdGg9IjMyIiBoZWlnaHQ9IjMyIiByeD0iOCIgZmlsbD0iI2EzNTIwMCIvPjxwYXRoIGQ9Ik0xMyA3aDZ2N2w1IDlhMiAyIDAgMCAxLTIgM0gxMGEyIDIgMCAwIDEtMi0zbDUtOXoiIGZpbGw9IiNmZmYiLz48L3N2Zz4=' as const;

/** A key with the account that pages see. */
type Keyed = LocalKey & { readonly account: WalletAccount };

export class LocalWallet implements Wallet {
    readonly version = '1.0.0';
    readonly name = LOCAL_WALLET;
    readonly icon = ICON;
    readonly chains = CHAINS;
    readonly #keyed: readonly Keyed[];
    readonly #listeners = new Set<StandardEventsListeners['change']>();
    #connected = false;

    constructor(keys: readonly LocalKey[], publicKeyOf: (address: string) => Uint8Array) {
        this.#keyed = keys.map((key) => ({
            ...key,
            account: {
                address: key.address,
                publicKey: publicKeyOf(key.address),
                chains: CHAINS,
                features: FEATURES,
                label: key.label,
            },
        }));
    }

    get accounts(): readonly WalletAccount[] {
        return this.#connected ? this.#keyed.map(({ account }) => account) : [];
    }

    get features() {
        return {
            [StandardConnect]: { version: '1.0.0' as const, connect: async () => this.#setConnected(true) },
            [StandardDisconnect]: { version: '1.0.0' as const, disconnect: async () => void this.#setConnected(false) },
            [StandardEvents]: { version: '1.0.0' as const, on: this.#on },
            [SolanaSignMessage]: { version: '1.1.0' as const, signMessage: this.#signMessage },
            [SolanaSignTransaction]: {
                version: '1.0.0' as const,
                supportedTransactionVersions: ['legacy', 0] as const,
                signTransaction: this.#signTransaction,
            },
        };
    }

    #setConnected(connected: boolean): { accounts: readonly WalletAccount[] } {
        this.#connected = connected;
        for (const listener of this.#listeners) listener({ accounts: this.accounts });
        return { accounts: this.accounts };
    }

    readonly #on: StandardEventsOnMethod = (_event, listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    };

    readonly #signMessage: SolanaSignMessageMethod = async (...inputs) =>
        Promise.all(
            inputs.map(async ({ account, message }) => {
                const signature = await signBytes(this.#keysOf(account).privateKey, message);
                return { signedMessage: message, signature, signatureType: 'ed25519' as const };
            }),
        );

    readonly #signTransaction: SolanaSignTransactionMethod = async (...inputs) =>
        Promise.all(
            inputs.map(async ({ account, transaction }) => {
                const decoded = getTransactionDecoder().decode(transaction);
                const signed = await partiallySignTransaction([this.#keysOf(account)], decoded);
                return { signedTransaction: new Uint8Array(getTransactionEncoder().encode(signed)) };
            }),
        );

    #keysOf({ address }: WalletAccount): CryptoKeyPair {
        const found = this.#keyed.find((key) => key.address === address);
        if (found === undefined) throw new Error(words.local.noAccount(address));
        return found.keys;
    }
}
