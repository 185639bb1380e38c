// The wallets of this browser that speak the wallet standard, and what each of them can sign.

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

import { visible } from '../text/visible';
import { words } from '../words';

/** A wallet that connects and signs something. Pages that need more say what it cannot sign. */
export type UsableWallet = Wallet & {
    readonly features: StandardConnectFeature &
        Partial<
            SolanaSignMessageFeature & SolanaSignTransactionFeature & StandardDisconnectFeature & StandardEventsFeature
        >;
};

export const isUsable = (wallet: Wallet): wallet is UsableWallet =>
    StandardConnect in wallet.features &&
    (SolanaSignMessage in wallet.features || SolanaSignTransaction in wallet.features) &&
    wallet.chains.some((chain) => chain.startsWith('solana:'));

/**
 * Whether a Solana wallet only signs what it sends itself. The dashboard cannot use it: it checks what was signed
 * before it sends.
 */
export const isUnusable = (wallet: Wallet): boolean =>
    !isUsable(wallet) && wallet.chains.some((chain) => chain.startsWith('solana:'));

const SIGNING = {
    messages: { feature: SolanaSignMessage, cannot: words.wallet.noMessages },
    transactions: {
        feature: SolanaSignTransaction,
        cannot: words.wallet.noTransactions,
    },
} as const;

/**
 * Why an account cannot sign one of the two, for the user; `null` if it can. A hardware wallet often signs one alone.
 */
export function whyNot(wallet: UsableWallet, account: WalletAccount, what: keyof typeof SIGNING): string | null {
    const { feature, cannot } = SIGNING[what];
    if (feature in wallet.features && account.features.includes(feature)) return null;
    return words.wallet.cannot(visible(wallet.name), cannot);
}

/** The wallets of one moment; the same arrays until one comes or goes. */
export type KnownWallets = { readonly usable: readonly UsableWallet[]; readonly unusable: readonly Wallet[] };

export class WalletList {
    #known: KnownWallets;
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

    readonly get = (): KnownWallets => this.#known;

    readonly subscribe = (listener: () => void): (() => void) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    };

    #read(): KnownWallets {
        const found = this.#wallets.get();
        return { usable: found.filter(isUsable), unusable: found.filter(isUnusable) };
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
export async function signMessage(
    wallet: UsableWallet,
    account: WalletAccount,
    message: Uint8Array,
): Promise<Uint8Array> {
    const feature = wallet.features[SolanaSignMessage];
    const reason = whyNot(wallet, account, 'messages');
    if (feature === undefined || reason !== null) throw new Error(reason ?? words.wallet.cannotSignMessages);
    const [output] = await feature.signMessage({ account, message });
    if (output === undefined) throw new Error(words.wallet.noSignature);
    if (!sameBytes(output.signedMessage, message)) throw new Error(words.wallet.otherText);
    return output.signature;
}

/** The transaction with the account's signature. `chain`: such as `solana:devnet`. */
export async function signTransaction(
    wallet: UsableWallet,
    account: WalletAccount,
    transaction: Uint8Array,
    chain: `solana:${string}`,
): Promise<Uint8Array> {
    const feature = wallet.features[SolanaSignTransaction];
    const reason = whyNot(wallet, account, 'transactions');
    if (feature === undefined || reason !== null) throw new Error(reason ?? words.wallet.cannotSignTransactions);
    const [output] = await feature.signTransaction({ account, transaction, chain });
    if (output === undefined) throw new Error(words.wallet.noTransaction);
    return output.signedTransaction;
}

/** The version of a message that the wallet reads: the newer one, unless it is an older wallet. */
export const versionFor = (wallet: UsableWallet): 'legacy' | 0 =>
    wallet.features[SolanaSignTransaction]?.supportedTransactionVersions.includes(0) === false ? 'legacy' : 0;

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
    return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
