// From instructions to a confirmed transaction, with a wallet that holds a real key and a node of a few answers.

import { once } from 'node:events';

import type { Address } from '@solana/kit';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { WebSocketServer } from 'ws';

import { SendError, signAndSend, socketOf } from '../src/chain/send';
import { isUsable, signTransaction } from '../src/shared/wallet/standard';
import { MockWallet } from './support/mockWallet';
import { BLOCKHASH, GOOD, fine, node } from './support/node';

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

const send = (steps: string[] = [], wsUrl: string | null = null) =>
    signAndSend({
        rpcUrl: 'http://node.example',
        wsUrl,
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

test('a node has its WebSocket at the same host, or at the next port where it names one', () => {
    expect(socketOf('https://rpc.example/key?a=1')).toBe('wss://rpc.example/key?a=1');
    expect(socketOf('http://10.0.0.1:8899')).toBe('ws://10.0.0.1:8900/');
});

/** A WebSocket of the node that says of every signature that it is confirmed, again and again. */
async function hastyNode(): Promise<{ wsUrl: string; subscribed: () => number; end: () => void }> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    let subscribed = 0;
    server.on('connection', (socket) =>
        socket.on('message', (data: Buffer) => {
            const { id, method } = JSON.parse(data.toString()) as { id: number; method: string };
            if (method !== 'signatureSubscribe') return;
            subscribed += 1;
            socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: 7 }));
            const result = { context: { slot: 1 }, value: { err: null } };
            const notice = { jsonrpc: '2.0', method: 'signatureNotification', params: { subscription: 7, result } };
            for (let time = 0; time < 50; time += 1) socket.send(JSON.stringify(notice));
        }),
    );
    const { port } = server.address() as { port: number };
    return { wsUrl: `ws://127.0.0.1:${port}`, subscribed: () => subscribed, end: () => server.close() };
}

test('a WebSocket that says “confirmed” is a reason to ask, and never an outcome', async () => {
    const { wsUrl, subscribed, end } = await hastyNode();
    let asked = 0;
    node({
        getLatestBlockhash: () => BLOCKHASH,
        simulateTransaction: fine,
        sendTransaction: () => 'x',
        getBlockHeight: () => (asked < 6 ? 1 : 11),
        getSignatureStatuses: () => ({ value: [((asked += 1), null)] }),
    });
    expect(await kindOf(send([], wsUrl))).toBe('expired');
    expect(subscribed()).toBe(1);
    // Each notice but the first is ignored, so the node is not asked without a pause.
    expect(asked).toBeLessThan(10);
    end();
});

test('a node without a WebSocket is asked', async () => {
    node(GOOD);
    expect(await kindOf(send([], 'ws://127.0.0.1:1'))).toBe('sent');
});
