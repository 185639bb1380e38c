// @vitest-environment happy-dom
// When the built-in wallet of the local network is loaded.

import { QueryClientProvider, type QueryClient } from '@tanstack/react-query';
import { act, cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { registerWallet } from '@wallet-standard/wallet';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { WalletButton } from '../src/features/wallet/WalletButton';
import { makeQueryClient, networkQuery } from '../src/shared/api/queries';
import { LOCAL_WALLET } from '../src/shared/wallet/local/name';
import { MockWallet } from './support/mockWallet';
import './support/popover';

const load = vi.hoisted(() => ({ loadLocalWallet: vi.fn<() => Promise<void>>() }));
vi.mock('../src/shared/wallet/local/load', () => load);

const { loadLocalWallet } = load;

beforeEach(() => {
    loadLocalWallet.mockReset();
    loadLocalWallet.mockResolvedValue(undefined);
    localStorage.clear();
});

afterEach(() => {
    cleanup();
    vi.useRealTimers();
});

function show(network: string): QueryClient {
    const queries = makeQueryClient();
    queries.setQueryData(networkQuery.queryKey, { network } as never);
    render(
        <QueryClientProvider client={queries}>
            <WalletButton />
        </QueryClientProvider>,
    );
    return queries;
}

/** A promise, and what fulfils it. */
function open(): { promise: Promise<void>; resolve: () => void } {
    let resolve = (): void => undefined;
    const promise = new Promise<void>((done) => (resolve = done));
    return { promise, resolve };
}

test('a page does not load the built-in wallet by itself', async () => {
    vi.useFakeTimers();
    show('local');
    await act(() => vi.advanceTimersByTimeAsync(60_000));
    expect(loadLocalWallet).not.toHaveBeenCalled();
});

test('a page that reconnects the built-in wallet loads it at once', () => {
    vi.useFakeTimers();
    localStorage.setItem('crtx.wallet', JSON.stringify([LOCAL_WALLET, 'an address']));
    show('local');
    expect(loadLocalWallet).toHaveBeenCalled();
});

test('another network does not load it', async () => {
    vi.useFakeTimers();
    show('devnet');
    await act(() => vi.advanceTimersByTimeAsync(60_000));
    expect(loadLocalWallet).not.toHaveBeenCalled();
});

test('the panel names the wallets once the built-in one is among them', async () => {
    const mock = await MockWallet.make();
    const { promise, resolve } = open();
    loadLocalWallet.mockReturnValue(promise);
    show('local');
    await userEvent.click(screen.getByRole('button', { name: 'Connect' }));
    // The code of the panel comes with its first opening.
    await vi.waitFor(() => expect(loadLocalWallet).toHaveBeenCalled(), { timeout: 30_000 });
    await act(() => new Promise((done) => setTimeout(done, 50)));
    expect(screen.queryByText('No wallet found')).toBeNull();
    registerWallet(mock.wallet);
    resolve();
    await screen.findByRole('button', { name: 'Mock wallet' });
}, 60_000);
