// @vitest-environment happy-dom
// A transaction from the press of a button, with the account that is connected: what is shown, and what is not sent.

import type { Address } from '@solana/kit';
import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { SendOptions } from '../src/chain/send';
import { TransactionState } from '../src/features/wallet/TransactionState';
import { makeQueryClient, networkQuery } from '../src/shared/api/queries';
import { isUsable } from '../src/shared/wallet/standard';
import { useTransaction } from '../src/shared/wallet/useTransaction';
import { walletStore } from '../src/shared/wallet/useWallet';
import { MockWallet } from './support/mockWallet';

/** What the code that sends does with the wallet; the rest of it is in `wallets.test.ts`, and needs no page. */
const sending = vi.hoisted(() => ({ sent: 0 }));
vi.mock('../src/chain/send', () => ({
    socketOf: () => 'ws://127.0.0.1:1',
    signAndSend: async ({ sign, onStep }: SendOptions) => {
        onStep?.('signing', undefined, 5_123n);
        await sign(new Uint8Array([1, ...new Uint8Array(64), 1, 0, 0]));
        sending.sent += 1;
        return 'signature';
    },
}));

/** The index shows a transaction when the test says so. */
const index = vi.hoisted(() => ({ isThere: (): void => undefined }));
vi.mock('../src/shared/wallet/indexed', () => ({
    waitForIndex: () => new Promise<void>((resolve) => (index.isThere = resolve)),
}));

let mock: MockWallet;

beforeEach(async () => {
    mock = await MockWallet.make();
    sending.sent = 0;
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no network in this test')));
});

afterEach(async () => {
    cleanup();
    await walletStore().disconnect();
    vi.unstubAllGlobals();
});

function Sender({ meanwhile }: { meanwhile: () => Promise<void> }) {
    const { status, send } = useTransaction();
    const instruction = {
        programAddress: 'SysvarC1ock11111111111111111111111111111111' as Address,
        data: new Uint8Array([1]),
    };
    const build = async () => {
        await meanwhile();
        return [instruction];
    };
    return (
        <>
            <button onClick={() => void send({ build })}>Send</button>
            <TransactionState status={status} done="It is done." />
        </>
    );
}

/** Connects the mock, and shows a button that sends. */
async function show(meanwhile: () => Promise<void> = async () => undefined, wallet = mock.wallet): Promise<void> {
    if (!isUsable(wallet)) throw new Error('The mock signs something.');
    await walletStore().connect(wallet);
    const queries = makeQueryClient();
    queries.setQueryData(networkQuery.queryKey, {
        chain: 'solana:localnet',
        rpc_url: 'http://node.example',
        explorer: { transaction: '' },
    } as never);
    render(
        <QueryClientProvider client={queries}>
            <Sender meanwhile={meanwhile} />
        </QueryClientProvider>,
    );
}

test('the network fee is named while the wallet asks, and it is done when the lists show it', async () => {
    mock.delay = 300;
    await show();
    await userEvent.click(screen.getByRole('button', { name: 'Send' }));
    await screen.findByText('Your wallet asks you to sign … The network fee is 0.000005123 SOL.');
    await screen.findByText('Confirmed. Waiting until the lists show it …');
    expect(screen.queryByText('It is done.')).toBeNull();
    index.isThere();
    await screen.findByText('It is done.');
});

test('an account that is changed meanwhile signs nothing', async () => {
    const other = await MockWallet.make();
    await show(async () => {
        if (isUsable(other.wallet)) await walletStore().connect(other.wallet);
    });
    await userEvent.click(screen.getByRole('button', { name: 'Send' }));
    await screen.findByText(/Another account is connected now/);
    expect([mock.asked, other.asked]).toEqual([['connect'], ['connect']]);
    expect(sending.sent).toBe(0);
});

test('an account that cannot sign transactions is told so before the press, and nothing is asked', async () => {
    const { 'solana:signTransaction': _, ...features } = mock.wallet.features as Record<string, unknown>;
    await show(undefined, { ...mock.wallet, features });
    await screen.findByText('Your wallet cannot sign this');
    await userEvent.click(screen.getByRole('button', { name: 'Send' }));
    await screen.findByText(/cannot sign a transaction without sending it/);
    expect([mock.asked, sending.sent]).toEqual([['connect'], 0]);
});
