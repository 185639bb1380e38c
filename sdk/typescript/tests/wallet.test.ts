// What a wallet's client does when the outcome of an opening is not known: never two openings, two payments, or a signature
// for other terms.

import { generateKeyPairSigner } from '@solana/kit';
import { beforeEach, expect, test, vi } from 'vitest';

import {
    ApiError,
    ChainRefusedError,
    ConnectionError,
    Client,
    CrtxError,
    OutcomeUnknownError,
    PriceTooHighError,
    executionIdOf,
    requestHash,
} from '../src/index.js';
import { checkSignIn } from '../src/signIn.js';
import { memoryOpenings, withWallet } from '../src/wallet.js';
import { randomOf } from './support/faultyProxy.js';
import { AGENT, type Buyer, Market, NODE, SERVICE, challengeOf } from './support/market.js';

const signer = await generateKeyPairSigner();
const idempotencyKey = 'order-7';
const id = await executionIdOf(signer.address, idempotencyKey);
let market: Market;
const API_KEY = 'crtx_test_FQYve7fby21hhdNDyGBEFG6F2RQ7ZCREY5189uxKBoqk';

beforeEach(async () => {
    market = await Market.make();
});

const buy = async (buyer: Buyer, options = {}) => buyer.execute(AGENT, 'a task', { idempotencyKey, ...options });
const failure = async (call: Promise<unknown>): Promise<any> =>
    call.then(
        () => expect.fail('the call did not fail'),
        (error: unknown) => error,
    );
const methodOf = ({ body }: RequestInit): string => (typeof body === 'string' ? JSON.parse(body).method : '');
/** Schemas of which each refers twice to the next one: 2^count evaluations. */
const doubling = (count: number): object =>
    Object.fromEntries(
        Array.from({ length: count + 1 }, (_, at) => [
            at,
            at === count ? {} : { allOf: Array(2).fill({ $ref: `#/$defs/${at + 1}` }) },
        ]),
    );
/** What a call may need that ends as unknown. */
const SHORT = { timeoutMs: 400 };

test('a call is paid on the terms of the listing, kept before it is sent, and handed over', async () => {
    const buyer = market.client(signer);
    expect(await buy(buyer)).toMatchObject({ result: 'a result', execution_id: id, idempotency_key: idempotencyKey });
    const opening = { id, amount: 50_000n, termsHash: await market.terms(), requestHash: await requestHash('a task') };
    expect(market.openings).toEqual([opening]);
    expect(market.log).toEqual(['sign-in', 'sign', 'keep', 'send', 'dispatch']);
});

test('the same key pays once, whoever calls again', async () => {
    const buyers = [market.client(signer), market.client(signer)];
    for (const buyer of [...buyers, ...buyers]) expect((await buy(buyer)).execution_id).toBe(id);
    expect(market.openings).toHaveLength(1);
    expect(buyers.map(({ signatures }) => signatures.length)).toEqual([1, 0]);
});

test('calls at the same time with one key are signed once', async () => {
    const buyer = market.client(signer);
    await Promise.all([buy(buyer), buy(buyer), buy(buyer)]);
    expect([market.openings.length, buyer.signatures.length]).toEqual([1, 1]);
});

test('of two processes at the same time one pays, and both get the result', async () => {
    const buyers = [market.client(signer), market.client(signer)];
    const results = await Promise.all(buyers.map((buyer) => buy(buyer)));
    expect(results.map(({ result }) => result)).toEqual(['a result', 'a result']);
    expect(market.openings).toHaveLength(1);
});

test('a transaction whose answer is lost is looked up', async () => {
    market.onSend = ['lose the answer'];
    const buyer = market.client(signer);
    expect((await buy(buyer)).result).toBe('a result');
    expect([market.openings.length, buyer.signatures.length]).toEqual([1, 1]);
});

test('a transaction that is lost is sent again, and not signed again', async () => {
    market.onSend = ['drop', 'land'];
    const buyer = market.client(signer);
    expect((await buy(buyer)).result).toBe('a result');
    expect([market.openings.length, buyer.signatures.length]).toEqual([1, 1]);
    expect(market.log.filter((what) => what === 'send').length).toBeGreaterThan(1);
});

test('while the outcome is unknown nothing else is signed, and what landed is found', async () => {
    const buyer = market.client(signer);
    market.isBehind = true;
    const error = await failure(buy(buyer, SHORT));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ idempotencyKey, executionId: id });
    expect(market.openings).toHaveLength(1);
    expect(await failure(buy(buyer, SHORT))).toBeInstanceOf(OutcomeUnknownError);
    market.isNodeDown = true;
    expect(await failure(buy(buyer, SHORT))).toBeInstanceOf(OutcomeUnknownError);
    [market.isBehind, market.isNodeDown] = [false, false];
    expect((await buy(buyer)).result).toBe('a result');
    expect([market.openings.length, buyer.signatures.length]).toEqual([1, 1]);
});

test('a node that is behind does not make a transaction expire', async () => {
    const buyer = market.client(signer);
    market.isBehind = true;
    await failure(buy(buyer, SHORT));
    market.height += 1_000;
    expect(await failure(buy(buyer, SHORT))).toBeInstanceOf(OutcomeUnknownError);
    expect([market.openings.length, buyer.signatures.length]).toEqual([1, 1]);
});

test('what was dropped is signed again once the chain cannot take it any more', async () => {
    const buyer = market.client(signer);
    market.onSend = ['drop'];
    expect(await failure(buy(buyer, SHORT))).toBeInstanceOf(OutcomeUnknownError);
    market.height += 150;
    expect(await failure(buy(buyer, SHORT)), 'its last block').toBeInstanceOf(OutcomeUnknownError);
    expect(buyer.signatures).toHaveLength(1);
    market.height += 1;
    market.onSend = ['land'];
    expect((await buy(buyer)).result).toBe('a result');
    expect([market.openings.length, buyer.signatures.length]).toEqual([1, 2]);
});

test('a transaction that expires while its call waits costs nothing, and says so', async () => {
    market.onSend = ['drop'];
    const buyer = market.client(signer);
    setTimeout(() => (market.height += 151), 100);
    const error = await failure(buy(buyer));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ idempotencyKey, executionId: id });
    expect(market.openings).toEqual([]);
});

test('a process that was killed leaves its opening to the next one', async () => {
    const openings = memoryOpenings();
    market.onSend = ['drop'];
    await failure(buy(market.client(signer, { openings }), SHORT));
    const next = market.client(signer, { openings });
    market.onSend = ['land'];
    expect((await buy(next)).result).toBe('a result');
    expect([market.openings.length, next.signatures.length]).toEqual([1, 0]);
    expect(await openings.get(id)).toBeUndefined();
});

test('what cannot be kept is not sent', async () => {
    const openings = { ...memoryOpenings(), put: async () => Promise.reject(new Error('the disk is full')) };
    const error = await failure(buy(market.client(signer, { openings })));
    expect(error.message).toContain('the disk is full');
    expect(market.log).not.toContain('send');
});

test('an execution whose record is closed is not paid once more', async () => {
    const buyer = market.client(signer);
    await buy(buyer);
    await market.close(signer.address, id);
    // With another blockhash; the same transaction would have the same signature.
    market.height += 1;
    expect((await buy(market.client(signer))).result).toBe('a result');
    expect(market.openings).toHaveLength(1);
});

test('without an answer about earlier payments nothing is signed', async () => {
    const asked = async (url: string, init: RequestInit): Promise<Response> =>
        url.includes('/v1/executions/') ? new Response('<html>', { status: 502 }) : market.fetch(url, init);
    expect(await failure(buy(market.client(signer, { fetch: asked, retries: 0 })))).toBeInstanceOf(ApiError);
    market.isNodeDown = true;
    expect(await failure(buy(market.client(signer, { retries: 0 })))).toBeInstanceOf(ConnectionError);
    expect(market.log).not.toContain('sign');
});

test('a key of another call is refused', async () => {
    const buyer = market.client(signer);
    await buy(buyer);
    const error = await failure(buyer.execute(AGENT, 'another task', { idempotencyKey }));
    expect(error.message).toContain('belongs to another call');
    expect([market.openings.length, buyer.signatures.length]).toEqual([1, 1]);
});

test('other terms than those that were shown are not signed', async () => {
    const buyer = market.client(signer);
    const seen = await market.terms();
    market.list(90_000n);
    for (const shown of [seen, undefined]) {
        market.shownTerms = shown;
        const error = await failure(buy(buyer, { termsHash: seen }));
        expect(error).toBeInstanceOf(CrtxError);
        expect(error.message).toContain('terms');
    }
    market.shownTerms = seen;
    expect((await failure(buy(buyer))).message).toContain('terms');
    expect([market.openings.length, buyer.signatures.length]).toEqual([0, 0]);
    market.shownTerms = undefined;
    await buy(buyer, { termsHash: await market.terms() });
    expect(market.openings[0]).toMatchObject({ amount: 90_000n });
});

test('a price above the highest one is not signed', async () => {
    const buyer = market.client(signer);
    const error = await failure(buy(buyer, { maxPrice: 49_999n }));
    expect(error).toBeInstanceOf(PriceTooHighError);
    expect(error).toMatchObject({ price: 50_000n, maxPrice: 49_999n, idempotencyKey, executionId: id });
    expect(error.message).toContain('the agent costs 0.05 USDC, above `maxPrice` of 0.049999');
    expect([market.openings.length, buyer.signatures.length]).toEqual([0, 0]);
    await buy(buyer, { maxPrice: 50_000n });
    market.list(90_000n);
    expect((await buy(buyer, { maxPrice: 50_000n })).result, 'it is paid already').toBe('a result');
    expect(market.openings).toMatchObject([{ amount: 50_000n }]);
    const client = new Client(SERVICE, API_KEY, { rpcUrl: NODE, fetch: market.fetch });
    expect((await failure(client.execute(AGENT, 'a task', { maxPrice: 50_000n }))).message).toContain('only a wallet');
});

test('terms that change after the signature are refused by the chain, and nothing is paid', async () => {
    const fetch = async (url: string, init: RequestInit): Promise<Response> => {
        if (methodOf(init) === 'sendTransaction') market.list(90_000n);
        return market.fetch(url, init);
    };
    expect(await failure(buy(market.client(signer, { fetch })))).toBeInstanceOf(ChainRefusedError);
    expect(market.openings).toEqual([]);
});

test('accounts of another program are not believed', async () => {
    market.accounts.get(AGENT)!.owner = AGENT;
    const buyer = market.client(signer);
    expect((await failure(buy(buyer))).message).toContain('none of the program');
    expect(buyer.signatures).toEqual([]);
});

test('parameters that the agent refuses are not paid', async () => {
    market.schema = { type: 'object', required: ['language'] };
    const buyer = market.client(signer);
    expect((await failure(buy(buyer))).message).toContain('input_schema');
    expect(buyer.signatures).toEqual([]);
    await buy(buyer, { parameters: { language: 'en' } });
    expect(market.openings).toHaveLength(1);
});

test.each<[string, object, Record<string, unknown>]>([
    ['a regular expression', { properties: { text: { pattern: '^(a+)+$' } } }, { text: `${'a'.repeat(60)}!` }],
    ['references that double', { $ref: '#/$defs/0', $defs: doubling(40) }, {}],
    ['a reference to itself', { $ref: '#' }, {}],
])(
    'a schema whose check does not end is not waited for, and nothing is paid: %s',
    async (_name, schema, parameters) => {
        market.schema = schema;
        const buyer = market.client(signer);
        const began = performance.now();
        expect((await failure(buy(buyer, { parameters }))).message).toContain('cannot be checked');
        expect(performance.now() - began).toBeLessThan(10_000);
        expect(buyer.signatures).toEqual([]);
    },
);

test('where a check cannot be ended, parameters are not checked', async () => {
    market.schema = { $ref: '#' };
    const modules = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined);
    expect((await buy(market.client(signer))).result).toBe('a result');
    modules.mockRestore();
});

test('a transaction that fails on chain costs nothing, and the next call may pay', async () => {
    const buyer = market.client(signer);
    market.onSend = ['fail', 'land'];
    expect(await failure(buy(buyer))).toBeInstanceOf(ChainRefusedError);
    expect(market.openings).toEqual([]);
    // With another blockhash; the same transaction would have the same signature.
    market.height += 1;
    expect((await buy(buyer)).result).toBe('a result');
    expect(market.openings).toHaveLength(1);
});

test('a signature of something else is not sent', async () => {
    const wrong = {
        ...signer,
        signTransactions: async (transactions: any) => {
            const [signed] = await signer.signTransactions(transactions);
            const signature = signed![signer.address]!;
            return [{ [signer.address]: signature.slice().fill(1, 40, 50) }];
        },
    };
    const error = await failure(buy(market.client(wrong as any)));
    expect(error.message).toContain('did not sign this transaction');
    expect(market.log).not.toContain('send');
});

test('a call that is stopped before its signature sends nothing', async () => {
    const controller = new AbortController();
    const slow = {
        ...signer,
        signTransactions: async (transactions: any) => {
            controller.abort(new Error('enough'));
            return signer.signTransactions(transactions);
        },
    };
    const error = await failure(buy(market.client(slow), { signal: controller.signal }));
    expect(error).not.toBeInstanceOf(OutcomeUnknownError);
    expect(market.log).not.toContain('send');
});

test('a session that ends is renewed, and the call goes on', async () => {
    const buyer = market.client(signer);
    await buy(buyer);
    market.tokens.clear();
    await buyer.execute(AGENT, 'another task');
    expect(market.openings).toHaveLength(2);
    expect(market.log.filter((what) => what === 'sign-in')).toHaveLength(2);
});

test('a paid call that is not handed over has an unknown outcome, and goes on with its key', async () => {
    const buyer = market.client(signer, { retries: 1 });
    market.dispatches.push(
        { status: 409, code: 'conflict', headers: { 'retry-after': '0' } },
        { status: 503, code: 'unavailable', headers: { 'retry-after': '0' } },
        { status: 503, code: 'unavailable', headers: { 'retry-after': '0' } },
        { status: 400, code: 'invalid_request' },
        { status: 502, code: 'execution_failed' },
    );
    for (const code of ['unavailable', 'invalid_request']) {
        const error = await failure(buy(buyer));
        expect(error).toBeInstanceOf(OutcomeUnknownError);
        expect(error).toMatchObject({ idempotencyKey, executionId: id, cause: { code } });
    }
    expect(await failure(buy(buyer))).toMatchObject({ code: 'execution_failed', idempotencyKey, executionId: id });
    expect((await buy(buyer)).result).toBe('a result');
    expect([market.openings.length, buyer.signatures.length]).toEqual([1, 1]);
});

test('the price comes back after the deadline, and not before', async () => {
    const buyer = market.client(signer);
    market.dispatches.push({ status: 400, code: 'invalid_request' });
    await failure(buy(buyer));
    expect((await failure(buyer.refund(id))).message).toContain('until second 1060');
    market.time = 1_061n;
    market.onSend = ['lose the answer'];
    await buyer.refund(id);
    expect((await failure(buyer.refund(id))).message).toContain('ended already');
    expect((await failure(buyer.refund(crypto.randomUUID()))).message).toContain('no such execution');
    expect(buyer.signatures).toHaveLength(2);
});

test('a wallet has a node of its own, and does not use the API key of the environment', async () => {
    expect(() => withWallet(SERVICE, signer)).toThrow('rpcUrl');
    expect(() => withWallet('http://crtx.example', signer, { rpcUrl: NODE })).toThrow('plain http');
    process.env.CRTX_API_KEY = API_KEY;
    expect((await buy(market.client(signer))).result).toBe('a result');
    delete process.env.CRTX_API_KEY;
});

test('only a sign-in of this wallet at this service on this network is signed', async () => {
    const wallet = signer.address;
    const [from, to] = ['2026-11-21T10:00:00.000Z', '2026-11-21T10:05:00.000Z'];
    const good = { wallet, from, to };
    const now = Date.parse('2026-11-21T10:00:02Z');
    const place = { baseUrl: SERVICE, wallet, genesisHash: market.genesisHash, now };
    const check = (text: string, at = {}) => checkSignIn(text, { ...place, ...at });
    check(challengeOf(good));
    check(challengeOf({ ...good, uri: `${SERVICE}/market` }), { baseUrl: `${SERVICE}/market/` });
    const wrong = [
        { domain: 'bank.example' },
        { uri: 'https://bank.example' },
        { uri: `${SERVICE}/?a=b` },
        { uri: '' },
        { wallet: AGENT },
        { network: 'solana:mainnet' },
        { to: '2027-11-21T10:00:00Z' },
        { to: from },
        { from: 'now' },
        { from: '2026-11-21T09:00:00Z', to: '2026-11-21T09:05:00Z' },
    ];
    for (const change of wrong)
        expect(() => check(challengeOf({ ...good, ...change })), JSON.stringify(change)).toThrow();
    const texts = [
        '',
        '\u0001\u0000',
        `${challengeOf(good)}\nResources:\n- https://bank.example`,
        challengeOf(good).replace('This moves no money', 'This moves money'),
    ];
    for (const text of texts) expect(() => check(text)).toThrow('nothing was signed');
    const mainnet = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
    expect(() => check(challengeOf(good), { genesisHash: mainnet })).toThrow('solana:localnet');

    market.challenge = () => challengeOf({ wallet, uri: 'https://bank.example' });
    const error = await failure(buy(market.client(signer)));
    expect(error).toMatchObject({ idempotencyKey, message: expect.stringContaining('another place') });
    expect(market.log).toEqual([]);
});

test('whatever the node does, and however often the process is killed, each key is opened once', async () => {
    const random = randomOf(Number(process.env.CRTX_FAULT_SEED ?? 30));
    const openings = memoryOpenings();
    const fetch = async (url: string, init: RequestInit): Promise<Response> => {
        market.isBehind = random(8) === 0;
        if (url === NODE && random(25) === 0) throw new Error('the node does not answer');
        const response = await market.fetch(url, init);
        if (url === NODE && random(25) === 0) throw new Error('the answer is lost');
        return response;
    };
    market.onSend = Array.from(
        { length: 1_000 },
        () => (['land', 'lose the answer', 'drop', 'fail'] as const)[random(4)]!,
    );
    const blocks = setInterval(() => (market.height += 1 + random(40)), 20);
    let unknown = 0;
    const call = async (key: string): Promise<void> => {
        for (let tries = 0; tries < 200; tries += 1) {
            const isKilled = random(2) === 0;
            const buyer = market.client(signer, {
                fetch,
                retries: 0,
                openings,
                timeoutMs: isKilled ? 1 + random(300) : 3_000,
            });
            const error: unknown = await buy(buyer, { idempotencyKey: key }).then(
                () => undefined,
                (error: unknown) => error,
            );
            if (error === undefined) return;
            unknown += error instanceof OutcomeUnknownError ? 1 : 0;
        }
        expect.fail('the call has no end');
    };
    const keys = Array.from({ length: 10 }, (_, at) => `order-${at}`);
    await Promise.all(keys.map(call));
    clearInterval(blocks);
    const opened = market.openings.map((opening) => opening.id).sort();
    expect(opened).toEqual((await Promise.all(keys.map((key) => executionIdOf(signer.address, key)))).sort());
    expect(unknown).toBeGreaterThan(0);
});
