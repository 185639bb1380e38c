// From instructions to a confirmed transaction, with a wallet that holds a real key and a node of a few answers.

import type { Address } from '@solana/kit';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { SendError, signAndSend } from '../src/chain/send';
import { isUsable, signTransaction } from '../src/shared/wallet/standard';
import { MockWallet } from './support/mockWallet';
import { BLOCKHASH, fine, node } from './support/node';

let mock: MockWallet;

beforeAll(async () => {
    mock = await MockWallet.make();
});

beforeEach(() => {
    mock.refuses = false;
    mock.asked.length = 0;
});

afterEach(() => {
    vi.unstubAllGlobals();
});

const usable = () => {
    const { wallet } = mock;
    if (!isUsable(wallet)) throw new Error('The mock has every feature.');
    return wallet;
};

const send = (steps: string[] = []) =>
    signAndSend({
        rpcUrl: 'http://node.example',
        feePayer: mock.account.address as Address,
        instructions: [],
        sign: (bytes) => signTransaction(usable(), mock.account, bytes, 'solana:localnet'),
        onStep: (step) => steps.push(step),
    });

const kindOf = async (sending: Promise<unknown>): Promise<string> =>
    sending.then(
        () => 'sent',
        (error: unknown) => (error instanceof SendError ? error.kind : String(error)),
    );

test('a transaction is simulated, signed, and sent until it is confirmed', async () => {
    let asked = 0;
    const calls = node({
        getLatestBlockhash: () => BLOCKHASH,
        simulateTransaction: fine,
        sendTransaction: () => 'x',
        getBlockHeight: () => 1,
        getSignatureStatuses: () => ({
            value: [(asked += 1) < 2 ? null : { err: null, confirmationStatus: 'confirmed' }],
        }),
    });
    const steps: string[] = [];
    expect(await kindOf(send(steps))).toBe('sent');
    expect(steps).toEqual(['simulating', 'signing', 'confirming']);
    expect(calls.slice(0, 4)).toEqual([
        'getLatestBlockhash',
        'getRecentPrioritizationFees',
        'simulateTransaction',
        'sendTransaction',
    ]);
});

test('a transaction that the program refuses is never signed, and its words are shown', async () => {
    const calls = node({
        getLatestBlockhash: () => BLOCKHASH,
        simulateTransaction: () => ({
            value: {
                err: { InstructionError: [0, { Custom: 6005 }] },
                logs: [
                    'Program log: AnchorError thrown. Error Code: NotCaller. Error Number: 6005. Error Message: the signer is not the caller.',
                ],
            },
        }),
    });
    await expect(send()).rejects.toThrow('The program refuses this: the signer is not the caller.');
    expect(mock.asked).toEqual([]);
    expect(calls).not.toContain('sendTransaction');
});

test('a refused signature sends nothing', async () => {
    mock.refuses = true;
    const calls = node({ getLatestBlockhash: () => BLOCKHASH, simulateTransaction: fine });
    expect(await kindOf(send())).toBe('rejected');
    expect(calls).not.toContain('sendTransaction');
});

test('an expired blockhash is told apart from an unknown outcome', async () => {
    const answers = { getLatestBlockhash: () => BLOCKHASH, simulateTransaction: fine, sendTransaction: () => 'x' };
    node({ ...answers, getBlockHeight: () => 11, getSignatureStatuses: () => ({ value: [null] }) });
    expect(await kindOf(send())).toBe('expired');
});
