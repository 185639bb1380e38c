// A wallet of the wallet standard inside of the page, with the real key of the demo's caller. It asks nobody, and says no
// when it is told to.

import type { Page } from 'playwright-core';

import { walletBehaviours } from '../../../app/tests/support/walletBehaviours';
import type { Network } from './network';

export type Behaviour = {
    /** `sign`, or an error in place of a signature. */
    transaction: 'sign' | 'reject';
    /** What it makes of a message before it signs it: the name of one of `walletBehaviours`, or of a hostile change. */
    change: string;
    /** Milliseconds until it has signed anything. */
    delay: number;
    chains: string[];
};

export type DemoWallet = { label: string; address: string; secret_key: string };

/** The wallets that `crtx up` hands to its own page. */
export async function demoWallets({ base_url: origin }: Network): Promise<DemoWallet[]> {
    const answer = await fetch(`${origin}/local/wallets`, { method: 'POST', headers: { origin, 'content-type': 'application/json' }, body: '{}' });
    return ((await answer.json()) as { wallets: DemoWallet[] }).wallets;
}

/** The secret key and address of the demo's caller. */
export async function callerKey(network: Network): Promise<{ address: string; secret: string }> {
    const found = (await demoWallets(network)).find(({ address }) => address === network.wallet);
    if (found === undefined) throw new Error('The demo has no caller.');
    return { address: found.address, secret: found.secret_key };
}

/** How it behaves on every page, and what of signing it lacks. */
export type MockOptions = Partial<Behaviour> & { cannotSign?: 'messages' | 'transactions' };

/** Call before the page is opened. `window.mockWallet` changes how it behaves. */
export async function addMockWallet(page: Page, key: { address: string; secret: string }, options: MockOptions = {}): Promise<void> {
    await page.addInitScript(`window.walletBehaviours = (${walletBehaviours.toString()})();`);
    await page.addInitScript(install, { ...key, options });
}

export const behave = (page: Page, change: Partial<Behaviour>): Promise<void> =>
    page.evaluate((change) => void Object.assign((window as unknown as { mockWallet: object }).mockWallet, change), change);

/** How often it was asked for a transaction's signature. */
export const asked = (page: Page): Promise<number> => page.evaluate(() => (window as unknown as { mockWallet: { asked: number } }).mockWallet.asked);

/** Runs in the page, so it uses nothing from outside. */
function install({ address, secret, options }: { address: string; secret: string; options: MockOptions }): void {
    const state = { transaction: 'sign', change: 'hardware', delay: 0, chains: ['solana:localnet'], asked: 0, ...options };
    const known = (window as unknown as { walletBehaviours: ReturnType<typeof walletBehaviours> }).walletBehaviours;
    const changes: Record<string, (bytes: Uint8Array) => Uint8Array> = { ...known, ...known.hostile, ...known.hostileToSeveral } as never;
    (window as unknown as { mockWallet: object }).mockWallet = state;
    const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
    const decode = (text: string): Uint8Array => {
        let value = Array.from(text).reduce((sum, letter) => sum * 58n + BigInt(alphabet.indexOf(letter)), 0n);
        const bytes: number[] = [];
        for (; value > 0n; value >>= 8n) bytes.unshift(Number(value & 255n));
        return Uint8Array.from([...Array.from(/^1*/.exec(text)?.[0] ?? '', () => 0), ...bytes]);
    };
    const pkcs8 = Uint8Array.from([0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20, ...decode(secret).slice(0, 32)]);
    const key = crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']);
    const sign = async (bytes: Uint8Array): Promise<Uint8Array> => new Uint8Array(await crypto.subtle.sign('Ed25519', await key, new Uint8Array(bytes)));
    const account = {
        address,
        publicKey: decode(address),
        get chains() {
            return state.chains;
        },
        features: [...(options.cannotSign === 'messages' ? [] : ['solana:signMessage']), ...(options.cannotSign === 'transactions' ? [] : ['solana:signTransaction'])],
        label: 'Mock',
    };
    const signTransaction = async ({ transaction }: { transaction: Uint8Array }) => {
        state.asked += 1;
        if (state.transaction === 'reject') throw new Error('User rejected the request.');
        await new Promise((resolve) => setTimeout(resolve, state.delay));
        const change = changes[state.change];
        if (change === undefined) throw new Error(`There is no behaviour ${state.change}.`);
        const message = change(transaction.slice(65));
        const signers = (message[0] ?? 0) < 128 ? (message[0] ?? 0) : (message[1] ?? 0);
        const others = new Uint8Array(64 * Math.max(signers - 1, 0));
        return [{ signedTransaction: Uint8Array.from([signers, ...(await sign(message)), ...others, ...message]) }];
    };
    const wallet = {
        version: '1.0.0',
        name: 'Mock wallet',
        icon: 'data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=',
        chains: ['solana:localnet'],
        accounts: [account],
        features: {
            'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
            'standard:events': { version: '1.0.0', on: () => () => undefined },
            ...(options.cannotSign !== 'messages' && {
                'solana:signMessage': {
                    version: '1.1.0',
                    signMessage: async ({ message }: { message: Uint8Array }) => {
                        await new Promise((resolve) => setTimeout(resolve, state.delay));
                        return [{ signedMessage: message, signature: await sign(message) }];
                    },
                },
            }),
            ...(options.cannotSign !== 'transactions' && {
                'solana:signTransaction': { version: '1.0.0', supportedTransactionVersions: ['legacy', 0], signTransaction },
            }),
        },
    };
    type Api = { register: (wallet: object) => void };
    const announce = (api: Api): void => api.register(wallet);
    window.addEventListener('wallet-standard:app-ready', (event) => announce((event as CustomEvent<Api>).detail));
    window.dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: announce }));
}
