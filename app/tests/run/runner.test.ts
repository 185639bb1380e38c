// A call from its stored form to the agent, against a node that loses answers and a wallet that holds a real key: it is
// paid once, whatever happens.

import { createSolanaRpc } from '@solana/kit';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { runnerOf } from '../../src/features/run/call/runner';
import { putCall, removeCall, storedCall, storedCalls } from '../../src/features/run/call/stored';
import { readTerms } from '../../src/features/run/call/terms';
import { words } from '../../src/features/run/words';
import { ApiError, api } from '../../src/shared/api/client';
import { AGENT, FakeChain, TestWallet, network } from './support/chain';
import { FakeStorage } from './support/storage';

let storage: FakeStorage;
let chain: FakeChain;
let wallet: TestWallet;
let handedOver: string[];
let dispatch: () => void;

beforeEach(async () => {
    storage = new FakeStorage();
    vi.stubGlobal('localStorage', storage);
    removeCall('what is known of an earlier storage');
    chain = await FakeChain.start();
    wallet = await TestWallet.make();
    handedOver = [];
    dispatch = () => undefined;
    vi.spyOn(api, 'GET').mockImplementation(async () => {
        throw new ApiError(404, 'execution_not_found', 'There is none.');
    });
    vi.spyOn(api, 'POST').mockImplementation((async (
        _path: string,
        { params }: { params: { path: { execution_id: string } } },
    ) => {
        dispatch();
        handedOver.push(params.path.execution_id);
        return {};
    }) as never);
});

const tools = () => ({
    network,
    account: wallet.address as string,
    send: wallet.send,
    ensureSession: async () => undefined,
});
const run = (id: string, mayPay: boolean) => runnerOf(id).run(id, tools(), mayPay);
const progress = (id: string) => runnerOf(id).progress;

/** A call as the form stores it. */
async function call(change: object = {}): Promise<string> {
    const { price, termsHash, genesisHash } = await readTerms(createSolanaRpc('http://node.test'), AGENT);
    const executionId = crypto.randomUUID();
    const words = {
        task: 'do it',
        parameters: { a: 1 },
        agentId: AGENT as string,
        agentName: 'agent',
        createdAt: new Date().toISOString(),
    };
    putCall({
        executionId,
        ...words,
        wallet: wallet.address,
        price: price.toString(),
        termsHash,
        genesisHash,
        ...change,
    });
    return executionId;
}

describe('a call', () => {
    it('is paid once and handed over', async () => {
        const id = await call();
        await run(id, true);
        expect(progress(id)).toMatchObject({ stage: 'working', problem: null });
        expect([chain.paid, wallet.asked, handedOver]).toEqual([1, 1, [id]]);
        expect(storedCall(id)).toMatchObject({ handedOver: true });
    });

    it('is paid without a look at the chain by the press that made its id, and once', async () => {
        const id = await call();
        await runnerOf(id).run(id, { ...tools(), isNew: true }, true);
        await runnerOf(id).run(id, { ...tools(), isNew: true }, true);
        expect([chain.paid, wallet.asked, progress(id).stage]).toEqual([1, 1, 'working']);
    });

    it('is handed over with a new session if that of the payment has ended', async () => {
        const id = await call();
        const asked: string[] = [];
        dispatch = () => {
            if (asked.length < 2) throw new ApiError(401, 'signed_out', 'Sign in.');
        };
        const ensureSession = async () => void asked.push('sign in');
        await runnerOf(id).run(id, { ...tools(), ensureSession }, true);
        expect([chain.paid, asked.length, handedOver]).toEqual([1, 2, [id]]);
    });

    it('is paid once however often it is started', async () => {
        const id = await call();
        await Promise.all([run(id, true), run(id, true), run(id, true)]);
        await run(id, true);
        expect([chain.paid, chain.sent, wallet.asked]).toEqual([1, 1, 1]);
    });

    it('is never paid without a press', async () => {
        const id = await call();
        await run(id, false);
        expect([chain.paid, wallet.asked, progress(id).stage]).toEqual([0, 0, 'idle']);
    });

    it('costs nothing if the wallet says no, and can be signed later', async () => {
        const id = await call();
        wallet.willSign = false;
        await run(id, true);
        expect(progress(id).problem).toMatchObject({ title: 'You did not sign', money: 'wallet' });
        wallet.willSign = true;
        await run(id, true);
        expect([chain.paid, wallet.asked, progress(id).stage]).toEqual([1, 2, 'working']);
    });

    it('can be signed again after its blockhash has expired', async () => {
        const id = await call();
        chain.mode = 'lose';
        await run(id, true);
        expect(progress(id).problem).toMatchObject({ title: 'The signature has expired', money: 'wallet' });
        expect(storedCall(id)?.signature).toBeUndefined();
        chain.mode = 'take';
        await run(id, true);
        expect([chain.paid, progress(id).stage]).toEqual([1, 'working']);
    });

    it('is not paid twice if the connection breaks after it was sent', async () => {
        const id = await call();
        chain.mode = 'take-and-go-silent';
        await run(id, true);
        expect(progress(id).problem).toMatchObject({ money: 'unknown' });
        expect(storedCall(id)?.signature).toBeDefined();
        chain.mode = 'take';
        await run(id, false);
        expect([chain.paid, wallet.asked, handedOver]).toEqual([1, 1, [id]]);
    }, 20_000);

    it('goes on after a reload between payment and hand-over', async () => {
        const id = await call();
        dispatch = () => {
            throw new ApiError(400, 'invalid_request', 'parameters do not match');
        };
        await run(id, true);
        expect(progress(id).problem).toMatchObject({ money: 'escrow', message: 'parameters do not match' });
        dispatch = () => undefined;
        await run(id, false);
        expect([chain.paid, wallet.asked, handedOver]).toEqual([1, 1, [id]]);
    });

    it('asks the service again while that does not answer', async () => {
        const id = await call();
        let failures = 2;
        dispatch = () => {
            failures -= 1;
            if (failures >= 0)
                throw new ApiError(failures === 1 ? 0 : 409, 'offline', 'later', null, failures === 1 ? null : 0.1);
        };
        await run(id, true);
        expect([chain.paid, handedOver, progress(id).stage]).toEqual([1, [id], 'working']);
    });

    it('is not paid on terms that the user did not see', async () => {
        for (const change of [{ price: '1' }, { termsHash: '00'.repeat(32) }, { genesisHash: 'another' }]) {
            const id = await call(change);
            await run(id, true);
            expect(progress(id).problem?.money).toBe('wallet');
        }
        expect([chain.paid, wallet.asked]).toEqual([0, 0]);
    });

    it('asks for the cover that the creator promises, and is not paid while disputes claim it', async () => {
        await run(await call(), true);
        chain.list({ minCover: 0, disputedAmount: 1n });
        await run(await call(), true);
        expect(chain.covers).toEqual([2, 0]);
        chain.list({ disputedAmount: 1n });
        const id = await call();
        await run(id, true);
        expect(progress(id).problem).toMatchObject({ title: words.uncovered.title, money: 'wallet' });
        expect([chain.paid, wallet.asked]).toEqual([2, 2]);
    });

    it('is not paid by another wallet, and not a second time when its record is closed', async () => {
        const other = await call({ wallet: AGENT });
        await run(other, true);
        expect(progress(other).problem?.title).toBe('Another wallet is connected');
        vi.spyOn(api, 'GET').mockImplementation((async () => ({ data: {} })) as never);
        const closed = await call();
        await run(closed, true);
        expect([chain.paid, wallet.asked, progress(closed).stage]).toEqual([0, 0, 'working']);
    });

    it('is not paid while the network does not answer', async () => {
        const id = await call();
        chain.mode = 'silent';
        await run(id, true);
        expect(progress(id).problem).toMatchObject({ title: 'No connection to Solana', money: 'wallet' });
        expect(wallet.asked).toBe(0);
    });
});

describe('the stored calls', () => {
    it('survive a reload, and are not stored twice', async () => {
        const id = await call();
        expect(storedCalls().map(({ executionId }) => executionId)).toEqual([id]);
        removeCall(id);
        expect(storedCall(id)).toBeNull();
    });

    it('ignore what is no call', () => {
        for (const text of ['', 'null', '[]', '{"executionId":1}', '{'])
            localStorage.setItem(`crtx.call.${text.length}`, text);
        removeCall('none');
        expect(storedCalls()).toEqual([]);
    });

    it('stop a call that this browser cannot keep', async () => {
        storage.isFull = true;
        await expect(call()).rejects.toThrow('Nothing was signed');
    });
});
