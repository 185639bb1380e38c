// @vitest-environment happy-dom
// One session for all tabs of a browser: whose data a page gets, and what stays when the session ends.

import { type QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { cleanup, render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { registerWallet } from '@wallet-standard/wallet';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

/** The client takes `fetch` when it is loaded. */
const service = vi.hoisted(() => {
    const service: { answer: (request: Request) => Promise<Response> } = {
        answer: () => Promise.reject(new TypeError('no network')),
    };
    vi.stubGlobal('fetch', (request: Request) => service.answer(request));
    return service;
});

import { SessionGate } from '../src/features/wallet/Gate';
import { ApiError, api, asWallet, body } from '../src/shared/api/client';
import { makeQueryClient, networkQuery } from '../src/shared/api/queries';
import { Failure } from '../src/shared/ui/Failure';
import { useSessionKeeper } from '../src/shared/wallet/useSession';
import { walletStore } from '../src/shared/wallet/useWallet';
import { MockWallet } from './support/mockWallet';

const OTHER = '82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8';
const network = {
    network: 'local',
    chain: 'solana:localnet',
    base_url: 'http://market.example',
    rpc_url: null,
    usdc_mint: OTHER,
};

let mock: MockWallet;
/** Of the cookie that all tabs share. */
let session: string | null;
let asked: { path: string; method: string; wallet: string | null; csrf: string | null; credentials: string }[];

const refusal = (status: number, code: string, message: string): Response =>
    Response.json({ error: { code, message, execution_id: null } }, { status });

/** The session rules of the service. */
async function answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    const wallet = request.headers.get('X-Crtx-Wallet');
    const credentials = request.credentials;
    asked.push({ path, method: request.method, wallet, csrf: request.headers.get('X-CSRF-Token'), credentials });
    if (path === '/v1/sign-in/challenge') {
        const message = `market.example wants you to sign in with your Solana account:\n${mock.account.address}\n\nChain ID: solana:localnet\n`;
        return Response.json({ message, input: { address: mock.account.address, chainId: 'solana:localnet' } });
    }
    const shown = () => ({
        session_id: 'x',
        wallet: session,
        expires_at: '2099-01-01T00:00:00Z',
        csrf_token: `csrf of ${session}`,
    });
    if (path === '/v1/sign-in') {
        session = mock.account.address;
        return Response.json(shown());
    }
    if (credentials === 'omit' || session === null) return refusal(401, 'unauthorized', 'send the API key');
    if (wallet !== null && wallet !== session) return refusal(409, 'conflict', 'this session is of another wallet');
    if (path === '/v1/sessions/current') return Response.json(shown());
    return Response.json({ keys: [{ name: `key of ${session}` }], offset: 0, total: 1 });
}

beforeAll(async () => {
    mock = await MockWallet.make();
    registerWallet(mock.wallet);
});

beforeEach(async () => {
    [session, asked] = [mock.account.address, []];
    service.answer = answer;
    // This browser has signed in before.
    localStorage.setItem('crtx.session', '2099-01-01T00:00:00Z');
    const wallet = walletStore()
        .get()
        .wallets.find(({ name }) => name === mock.wallet.name);
    if (wallet === undefined) throw new Error('The wallet is registered.');
    await walletStore().connect(wallet);
});

afterEach(async () => {
    cleanup();
    await walletStore().disconnect();
});

function Private({ account }: { account: string }) {
    const { data, error, refetch } = useQuery({
        queryKey: ['keys', account],
        queryFn: () => body(api.GET('/v1/keys', { ...asWallet(account), params: { query: { limit: 1, offset: 0 } } })),
    });
    return (
        <>
            <p>{data?.keys[0]?.name}</p>
            {error && <Failure error={error} />}
            <input aria-label="Draft" />
            <button onClick={() => void refetch()}>Again</button>
        </>
    );
}

function Page() {
    useSessionKeeper();
    return <SessionGate why="It is private.">{(account) => <Private account={account} />}</SessionGate>;
}

function show(): QueryClient {
    const queries = makeQueryClient();
    queries.setQueryData(networkQuery.queryKey, network as never);
    render(
        <QueryClientProvider client={queries}>
            <Page />
        </QueryClientProvider>,
    );
    return queries;
}

test('a request names the wallet that its page shows, and no other request has the cookie', async () => {
    show();
    await screen.findByText(`key of ${mock.account.address}`);
    const keys = asked.filter(({ path }) => path === '/v1/keys');
    expect(keys.map(({ wallet, credentials }) => [wallet, credentials])).toEqual([
        [mock.account.address, 'same-origin'],
    ]);
    await api.GET('/v1/status').catch(() => undefined);
    expect(asked.at(-1)).toMatchObject({ path: '/v1/status', wallet: null, credentials: 'omit' });
});

test('a session that ends while a page is open leads to the sign-in, and what was written stays and goes on', async () => {
    show();
    await screen.findByText(`key of ${mock.account.address}`);
    await userEvent.type(screen.getByLabelText('Draft'), 'half a sentence');
    session = null;
    await userEvent.click(screen.getByText('Again'));
    const button = await screen.findByRole('button', { name: 'Sign in' });
    expect(document.body.textContent).toContain('You are no longer signed in');
    expect(document.body.textContent).not.toMatch(/API key/);
    expect(screen.getByLabelText<HTMLInputElement>('Draft').value).toBe('half a sentence');
    await userEvent.click(button);
    await waitFor(() => expect(screen.queryByRole('button', { name: 'Sign in' })).toBeNull());
    await waitFor(() => expect(document.body.textContent).not.toContain('You are no longer signed in'));
    expect(screen.getByLabelText<HTMLInputElement>('Draft').value).toBe('half a sentence');
    screen.getByText(`key of ${mock.account.address}`);
});

test('another tab that signs in with another wallet never gives this page its data', async () => {
    show();
    await screen.findByText(`key of ${mock.account.address}`);
    session = OTHER;
    await userEvent.click(screen.getByText('Again'));
    await screen.findByRole('button', { name: 'Sign in' });
    await screen.findByText(/signed in with 82vp/);
    expect(document.body.textContent).not.toContain(`key of ${OTHER}`);
    await userEvent.click(screen.getByRole('button', { name: 'Sign in' }));
    await waitFor(() => expect(session).toBe(mock.account.address));
    await waitFor(() => expect(screen.queryByRole('button', { name: 'Sign in' })).toBeNull());
});

test('the news of another tab is enough: the session is asked for again, and its own token is used', async () => {
    show();
    await screen.findByText(`key of ${mock.account.address}`);
    session = OTHER;
    const tab = new BroadcastChannel('crtx.tabs');
    tab.postMessage({ session: '2099-01-01T00:00:00Z' });
    await screen.findByRole('button', { name: 'Sign in' });
    const refused = await api
        .POST('/v1/evidence', { ...asWallet(mock.account.address), body: { text: 'x' } })
        .catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 409, code: 'signed_out' });
    expect(asked.find(({ path }) => path === '/v1/evidence')).toMatchObject({
        wallet: mock.account.address,
        csrf: `csrf of ${OTHER}`,
    });
    tab.close();
});

test('a browser that never signed in is not asked for its session, which would be an error in the console', async () => {
    localStorage.removeItem('crtx.session');
    session = null;
    show();
    await userEvent.click(await screen.findByRole('button', { name: 'Sign in' }));
    await screen.findByText(`key of ${mock.account.address}`);
    expect(asked.filter(({ path }) => path === '/v1/sessions/current')).toEqual([]);
});

test('an account that another tab disconnects is disconnected here', async () => {
    show();
    await screen.findByText(`key of ${mock.account.address}`);
    const tab = new BroadcastChannel('crtx.tabs');
    tab.postMessage({ account: null });
    await screen.findByText('Connect a wallet');
    expect(walletStore().get().connection).toBeNull();
    tab.close();
});

test('a conflict that has nothing to do with the session is shown as it is', async () => {
    show();
    await screen.findByText(`key of ${mock.account.address}`);
    service.answer = (request) =>
        request.method === 'POST' ? Promise.resolve(refusal(409, 'conflict', 'the name is taken')) : answer(request);
    const taken = await api
        .POST('/v1/evidence', { ...asWallet(mock.account.address), body: { text: 'x' } })
        .catch((error: unknown) => error);
    expect(taken).toBeInstanceOf(ApiError);
    expect(taken).toMatchObject({ status: 409, code: 'conflict', message: 'the name is taken' });
});
