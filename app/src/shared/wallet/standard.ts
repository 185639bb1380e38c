// The wallets of this browser that speak the wallet standard and can do what the dashboard needs.

import { getWallets } from '@wallet-standard/app';
import type { Wallet, WalletAccount } from '@wallet-standard/base';
import {
    StandardConnect,
    type StandardConnectFeature,
    StandardDisconnect,
    type StandardDisconnectFeature,
    StandardEvents,
    type StandardEventsFeature,
} from '@wallet-standard/features';
import {
    SolanaSignMessage,
    type SolanaSignMessageFeature,
    SolanaSignTransaction,
    type SolanaSignTransactionFeature,
} from '@solana/wallet-standard-features';

/** A wallet with every feature that the dashboard uses. */
export type UsableWallet = Wallet & {
    readonly features: StandardConnectFeature &
        SolanaSignMessageFeature &
        SolanaSignTransactionFeature &
        Partial<StandardDisconnectFeature & StandardEventsFeature>;
};

const NEEDED = [StandardConnect, SolanaSignMessage, SolanaSignTransaction] as const;

export const isUsable = (wallet: Wallet): wallet is UsableWallet =>
    NEEDED.every((feature) => feature in wallet.features) && wallet.chains.some((chain) => chain.startsWith('solana:'));

/** The usable wallets of one moment; the same array until one comes or goes. */
export class WalletList {
    #known: readonly UsableWallet[];
    readonly #wallets = getWallets();
    readonly #listeners = new Set<() => void>();

    constructor() {
        this.#known = this.#read();
        const changed = (): void => {
            this.#known = this.#read();
            for (const listener of this.#listeners) listener();
        };
        this.#wallets.on('register', changed);
        this.#wallets.on('unregister', changed);
    }

    readonly get = (): readonly UsableWallet[] => this.#known;

    readonly subscribe = (listener: () => void): (() => void) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    };

    #read(): readonly UsableWallet[] {
        return this.#wallets.get().filter(isUsable);
    }
}

/** Asks the wallet for its accounts. `silent`: only if the user has allowed this page before, without a question. */
export async function connect(wallet: UsableWallet, silent: boolean): Promise<readonly WalletAccount[]> {
    const { accounts } = await wallet.features[StandardConnect].connect({ silent });
    return accounts.length > 0 ? accounts : wallet.accounts;
}

export async function disconnect(wallet: UsableWallet): Promise<void> {
    await wallet.features[StandardDisconnect]?.disconnect();
}

/** Calls `changed` whenever the wallet's accounts change; returns how to stop it. */
export const onAccountsChanged = (wallet: UsableWallet, changed: () => void): (() => void) =>
    wallet.features[StandardEvents]?.on('change', changed) ?? (() => undefined);

/** The signature of an account over a message. */
export async function signMessage(wallet: UsableWallet, account: WalletAccount, message: Uint8Array): Promise<Uint8Array> {
    const [output] = await wallet.features[SolanaSignMessage].signMessage({ account, message });
    if (output === undefined) throw new Error('The wallet returned no signature.');
    if (!sameBytes(output.signedMessage, message)) throw new Error('The wallet signed another text than it was given.');
    return output.signature;
}

/** The transaction with the account's signature. `chain`: such as `solana:devnet`. */
export async function signTransaction(
    wallet: UsableWallet,
    account: WalletAccount,
    transaction: Uint8Array,
    chain: `solana:${string}`,
): Promise<Uint8Array> {
    const [output] = await wallet.features[SolanaSignTransaction].signTransaction({ account, transaction, chain });
    if (output === undefined) throw new Error('The wallet returned no transaction.');
    return output.signedTransaction;
}

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
    return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
