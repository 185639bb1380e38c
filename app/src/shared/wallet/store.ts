// Which wallet and account the user has chosen, for the whole page and over reloads.

import type { Wallet, WalletAccount } from '@wallet-standard/base';

import { type KnownWallets, type UsableWallet, WalletList, connect, disconnect, onAccountsChanged } from './standard';
import { onTabNews, tellTabs } from './tabs';

/** A connected wallet, and the account of it that signs. */
export type Connection = { readonly wallet: UsableWallet; readonly account: WalletAccount };

export type WalletState = {
    readonly wallets: readonly UsableWallet[];
    /** Wallets of Solana that the dashboard cannot use. */
    readonly unusable: readonly Wallet[];
    /** `null`: none. */
    readonly connection: Connection | null;
    /** The wallet that is being asked. */
    readonly connecting: UsableWallet | null;
};

/** Storage of the last choice: the name of the wallet and the address. */
const REMEMBERED = 'crtx.wallet';

export class WalletStore {
    readonly #list = new WalletList();
    readonly #listeners = new Set<() => void>();
    #state: WalletState = { ...namesOf(this.#list.get()), connection: null, connecting: null };
    #stopEvents: () => void = () => undefined;

    constructor() {
        this.#list.subscribe(() => {
            this.#set(namesOf(this.#list.get()));
            void this.#reconnect();
        });
        void this.#reconnect();
        onTabNews('account', (remembered) => void this.#follow(remembered));
    }

    readonly get = (): WalletState => this.#state;

    readonly subscribe = (listener: () => void): (() => void) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    };

    /** Connects a wallet, with the account of `address` if it has that one. */
    readonly connect = async (wallet: UsableWallet, address?: string): Promise<void> => {
        this.#set({ connecting: wallet });
        try {
            const accounts = await connect(wallet, false);
            const account = accounts.find((candidate) => candidate.address === address) ?? accounts[0];
            if (account === undefined) throw new Error(`${wallet.name} shared no account.`);
            this.#choose({ wallet, account });
        } finally {
            this.#set({ connecting: null });
        }
    };

    /** Signs with another account of the connected wallet. */
    readonly switchTo = (account: WalletAccount): void => {
        if (this.#state.connection !== null) this.#choose({ ...this.#state.connection, account });
    };

    readonly disconnect = async (): Promise<void> => {
        const { connection } = this.#state;
        keep(null);
        this.#drop();
        tellTabs({ account: null });
        if (connection !== null) await disconnect(connection.wallet);
    };

    /** Whether a wallet was connected at the last visit, or is now. */
    readonly isChosen = (): boolean => remembered()[0] !== null;

    /** Whether the wallet of this name was connected at the last visit. */
    readonly remembers = (name: string): boolean => remembered()[0] === name;

    /** The choice of the user, for all tabs. */
    #choose(connection: Connection): void {
        const chosen = JSON.stringify([connection.wallet.name, connection.account.address]);
        keep(chosen);
        this.#use(connection);
        tellTabs({ account: chosen });
    }

    #use(connection: Connection): void {
        this.#stopEvents();
        this.#stopEvents = onAccountsChanged(connection.wallet, () => this.#accountsChanged());
        this.#set({ connection });
    }

    #drop(): void {
        this.#stopEvents();
        this.#set({ connection: null });
    }

    /** The wallet may have removed the account, or replaced its object. */
    #accountsChanged(): void {
        const { connection } = this.#state;
        if (connection === null) return;
        const { accounts } = connection.wallet;
        const account = accounts.find(({ address }) => address === connection.account.address) ?? accounts[0];
        if (account === undefined) this.#drop();
        else if (account.address === connection.account.address) this.#set({ connection: { ...connection, account } });
        else this.#choose({ ...connection, account });
    }

    /** Another tab has chosen. Without that account here there is no connection: two tabs never act for two wallets. */
    async #follow(chosen: string | null): Promise<void> {
        keep(chosen);
        const [name, address] = remembered();
        const { connection } = this.#state;
        if (connection?.wallet.name === name && connection.account.address === address) return;
        this.#drop();
        if (name !== null) await this.#reconnect();
    }

    /** Connects the wallet of the last visit as soon as it has registered itself, without asking. */
    async #reconnect(): Promise<void> {
        if (this.#state.connection !== null || this.#state.connecting !== null) return;
        const [name, address] = remembered();
        const wallet = this.#state.wallets.find((candidate) => candidate.name === name);
        if (wallet === undefined) return;
        const accounts = await connect(wallet, true).catch(() => []);
        const account = accounts.find((candidate) => candidate.address === address);
        if (account !== undefined && this.get().connection === null) this.#use({ wallet, account });
    }

    #set(change: Partial<WalletState>): void {
        this.#state = { ...this.#state, ...change };
        for (const listener of this.#listeners) listener();
    }
}

function keep(chosen: string | null): void {
    if (chosen === null) localStorage.removeItem(REMEMBERED);
    else localStorage.setItem(REMEMBERED, chosen);
}

const namesOf = ({ usable, unusable }: KnownWallets): Pick<WalletState, 'wallets' | 'unusable'> => ({
    wallets: usable,
    unusable,
});

function remembered(): [string | null, string | null] {
    try {
        const [name, address] = JSON.parse(localStorage.getItem(REMEMBERED) ?? '[]') as unknown[];
        return [typeof name === 'string' ? name : null, typeof address === 'string' ? address : null];
    } catch {
        return [null, null];
    }
}
