// @vitest-environment happy-dom
// The wallet button with a wallet of the wallet standard that holds a real key: connect, refuse, sign in.

import { QueryClientProvider } from '@tanstack/react-query';
import { getPublicKeyFromAddress, signatureBytes, verifySignature, type Address, getBase58Encoder } from '@solana/kit';
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { registerWallet } from '@wallet-standard/wallet';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { WalletButton } from '../src/features/wallet/WalletButton';
import { makeQueryClient, networkQuery } from '../src/shared/api/queries';
import { signIn } from '../src/shared/wallet/session';
import { isUsable } from '../src/shared/wallet/standard';
import { walletStore } from '../src/shared/wallet/useWallet';
import { MockWallet } from './support/mockWallet';
import './support/popover';

let mock: MockWallet;
const network = {
    network: 'devnet',
    chain: 'solana:localnet',
    base_url: 'http://market.example',
    rpc_url: null,
    usdc_mint: 'C8gpTUmDZVVJQV1qvi8njdsMfvX3LcMLFzogbXXf4P1d',
} as never;

beforeAll(async () => {
    mock = await MockWallet.make();
    registerWallet(mock.wallet);
});

beforeEach(() => {
    mock.refuses = false;
    mock.asked.length = 0;
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no network in this test')));
});

afterEach(async () => {
    cleanup();
    await walletStore().disconnect();
    vi.unstubAllGlobals();
});

function show(): void {
    const queries = makeQueryClient();
    queries.setQueryData(networkQuery.queryKey, network);
    render(
        <QueryClientProvider client={queries}>
            <WalletButton />
        </QueryClientProvider>,
    );
}

test('a wallet is connected and shown by its account', async () => {
    show();
    await userEvent.click(screen.getByRole('button', { name: 'Connect' }));
    await userEvent.click(await screen.findByRole('button', { name: 'Mock wallet' }));
    await screen.findByRole('button', { name: 'Disconnect' });
    expect(walletStore().get().connection?.account.address).toBe(mock.account.address);
    expect(screen.queryByText(/nothing here has a value/)).toBeNull();
});

test('a refusal is shown in the words of the wallet, and another try works', async () => {
    show();
    mock.refuses = true;
    await userEvent.click(screen.getByRole('button', { name: 'Connect' }));
    await userEvent.click(await screen.findByRole('button', { name: 'Mock wallet' }));
    expect((await screen.findByRole('alert')).textContent).toBe('User rejected the request.');
    mock.refuses = false;
    await userEvent.click(screen.getByRole('button', { name: 'Mock wallet' }));
    await screen.findByRole('button', { name: 'Disconnect' });
    expect(screen.queryByRole('alert')).toBeNull();
});

const usable = () => {
    const { wallet } = mock;
    if (!isUsable(wallet)) throw new Error('The mock has every feature.');
    return wallet;
};

function challenge(change: (message: string) => string): (request: Request) => Promise<Response> {
    const { address } = mock.account;
    const text = `market.example wants you to sign in with your Solana account:\n${address}\n\nSign in.\n\nURI: http://market.example\nVersion: 1\nChain ID: solana:localnet\nNonce: n`;
    const json = (body: object): Response =>
        new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } });
    return async (request) => {
        if (request.url.endsWith('/challenge')) {
            return json({ message: change(text), input: { address, chainId: 'solana:localnet' } });
        }
        const sent = (await request.json()) as { message: string; signature: string };
        const key = await getPublicKeyFromAddress(address as Address);
        const signature = signatureBytes(
            new Uint8Array(getBase58Encoder().encode(sent.signature.replace('ed25519:', ''))),
        );
        expect(await verifySignature(key, signature, new TextEncoder().encode(sent.message))).toBe(true);
        return json({ wallet: address, session_id: 's', expires_at: '2026-12-01T00:00:00Z', csrf_token: 't' });
    };
}

test('a challenge of another page, wallet or network is not signed', async () => {
    const { api } = await import('../src/shared/api/client');
    const changes = [
        (text: string) => text.replace('market.example wants', 'evil.example wants'),
        (text: string) => text.replace(mock.account.address, '11111111111111111111111111111111'),
        (text: string) => text.replace('solana:localnet', 'solana:mainnet'),
    ];
    for (const change of changes) {
        const answer = challenge(change);
        const post = vi.spyOn(api, 'POST').mockImplementation((async (path: string, { body }: { body: object }) => {
            const request = new Request(`http://market.example${path}`, { method: 'POST', body: JSON.stringify(body) });
            return { data: await (await answer(request)).json() };
        }) as never);
        await expect(signIn({ wallet: usable(), account: mock.account }, network)).rejects.toThrow(
            'The text to sign is not for this page',
        );
        post.mockRestore();
    }
    expect(mock.asked).toEqual([]);
});

test('signing in sends a signature of the account over the text', async () => {
    const { api } = await import('../src/shared/api/client');
    const answer = challenge((text) => text);
    const post = vi.spyOn(api, 'POST').mockImplementation((async (path: string, { body }: { body: object }) => {
        const request = new Request(`http://market.example${path}`, { method: 'POST', body: JSON.stringify(body) });
        return { data: await (await answer(request)).json() };
    }) as never);
    const session = await signIn({ wallet: usable(), account: mock.account }, network);
    expect(session.wallet).toBe(mock.account.address);
    expect(mock.asked).toEqual(['signMessage']);
    post.mockRestore();
});
