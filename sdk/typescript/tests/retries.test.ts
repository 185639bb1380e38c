// What the buyer's side does when something on the way fails. The gateway of these tests charges once for each key.

import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { ApiError, Client, ConnectionError, OutcomeUnknownError, VerificationError } from '../src/index.js';
import { AGENT, type Gateway, ID, type Step, answerOf, refuse, startGateway } from './support/gateway.js';

let gateway: Gateway;

beforeAll(async () => {
    gateway = await startGateway();
});

beforeEach(() => {
    for (const list of [gateway.steps, gateway.keys, gateway.records]) list.length = 0;
    gateway.charged.clear();
});

afterAll(() => {
    gateway.server.closeAllConnections();
    gateway.server.close();
});

const cutBefore: Step = (_answer, response) => response.destroy();
const cutAfterCharging: Step = (answer, response) => {
    answer();
    response.destroy();
};
const cutDuring: Step = (answer, response) => {
    const text = answer();
    response.writeHead(200, { 'content-length': text.length }).write(text.slice(0, 40));
    setTimeout(() => response.destroy(), 20);
};
const slowBytes: Step = (answer, response) => {
    const text = answer();
    response.writeHead(200, { 'content-length': text.length }).write(text.slice(0, 40));
};
const now = { 'retry-after': '0' };

const survived: [string, Step[]][] = [
    ['cut before the answer', [cutBefore]],
    ['cut during the answer', [cutDuring]],
    ['cut after the call was charged', [cutAfterCharging]],
    ['cut twice', [cutAfterCharging, cutDuring]],
    ['slow bytes', [slowBytes]],
    ['503 with Retry-After', [refuse(503, 'unavailable', now)]],
    ['429 with Retry-After', [refuse(429, 'rate_limited', now)]],
    ['408 of a slow body', [refuse(408, 'request_timeout')]],
    ['502 of a proxy', [refuse(502, null)]],
    ['504 of a proxy', [refuse(504, null)]],
    [
        '409 of a call that is worked on, more often than the retries',
        Array<Step>(5).fill(refuse(409, 'conflict', now, ID)),
    ],
    ['a header that says so', [refuse(500, 'internal', { 'x-should-retry': 'true' })]],
];

test.each(survived)('a call survives %s, with one key and one charge', async (_name, steps) => {
    gateway.steps.push(...steps);
    const { result, idempotency_key } = await gateway.client({ bodyTimeoutMs: 100 }).execute(AGENT, 'a task');
    expect(result).toBe('a result');
    expect(new Set(gateway.keys)).toEqual(new Set([idempotency_key]));
    expect(gateway.keys).toHaveLength(steps.length + 1);
    expect(gateway.charged.size).toBe(1);
});

const refused: [string, Step, string][] = [
    ['402', refuse(402, 'insufficient_balance'), 'insufficient_balance'],
    ['a refunded call', refuse(500, 'execution_failed', {}, ID), 'execution_failed'],
    ['a time-out of the agent', refuse(408, 'execution_timeout', {}, ID), 'execution_timeout'],
    ['another call under the key', refuse(409, 'conflict', {}, ID), 'conflict'],
    ['503 without Retry-After', refuse(503, 'unavailable'), 'unavailable'],
    ['a header that forbids it', refuse(503, 'unavailable', { ...now, 'x-should-retry': 'false' }), 'unavailable'],
];

test.each(refused)('%s is not retried, and is an error of its code', async (_name, step, code) => {
    gateway.steps.push(step);
    const error = await failure(gateway.client().execute(AGENT, 'a task'));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code, idempotencyKey: gateway.keys[0] });
    expect(gateway.keys).toHaveLength(1);
});

const unknown: [string, Step[]][] = [
    ['a connection that is cut again and again', [cutAfterCharging, cutDuring, cutBefore]],
    ['a refusal after a cut', [cutAfterCharging, refuse(402, 'insufficient_balance')]],
    ['an opening that is not confirmed', Array<Step>(3).fill(refuse(503, 'unavailable', now, ID))],
    ['a fault of the service after the opening', [refuse(500, 'internal', {}, ID)]],
    ['errors of a proxy', Array<Step>(3).fill(refuse(502, null))],
];

test.each(unknown)('after %s the outcome is unknown, and the key goes on', async (_name, steps) => {
    gateway.steps.push(...steps);
    const error = await failure(gateway.client().execute(AGENT, 'a task'));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    const { idempotencyKey } = error as OutcomeUnknownError;
    // As another process, that has the key alone.
    const { result } = await gateway.client().execute(AGENT, 'a task', { idempotencyKey: idempotencyKey as string });
    expect(result).toBe('a result');
    expect(new Set(gateway.keys).size).toBe(1);
    expect(gateway.charged.size).toBe(1);
});

test('an unknown outcome names the execution that an answer named', async () => {
    gateway.steps.push(refuse(500, 'internal', {}, ID));
    await expect(gateway.client().execute(AGENT, 'a task')).rejects.toMatchObject({ executionId: ID });
});

test('where nothing listens, nothing was charged', async () => {
    const { port } = await startGateway().then(({ server }) => {
        const address = server.address() as AddressInfo;
        return new Promise<AddressInfo>((resolve) => server.close(() => resolve(address)));
    });
    const client = new Client(`http://127.0.0.1:${port}`, undefined, { verify: 'content', retries: 1 });
    const error = await failure(client.execute(AGENT, 'a task'));
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as ConnectionError).idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
});

test('a call that is still settled is followed to its end', async () => {
    const record = { ...(await answerOf('later')), agent_id: AGENT, tokens_used: 3 };
    gateway.records.push({ execution_id: ID, status: 'running' }, { execution_id: ID, status: 'running' }, record);
    gateway.steps.push((_answer, response) =>
        response.writeHead(202).end(JSON.stringify({ execution_id: ID, status: 'running' })),
    );
    const answer = await gateway.client().execute(AGENT, 'a task');
    expect(answer).toMatchObject({ result: 'later', status: 'completed', tokens_used: 3, cost_usdc: '0.01' });
});

test('a call that is refunded later is an error of its code', async () => {
    gateway.records.push({
        execution_id: ID,
        status: 'failed',
        result: null,
        error: { code: 'interrupted', message: 'so' },
    });
    gateway.steps.push((_answer, response) =>
        response.writeHead(202).end(JSON.stringify({ execution_id: ID, status: 'running' })),
    );
    const error = await failure(gateway.client().execute(AGENT, 'a task'));
    expect(error).toMatchObject({ code: 'interrupted', executionId: ID, idempotencyKey: gateway.keys[0] });
});

test('a call that does not end in time has an unknown outcome', async () => {
    gateway.records.push({ execution_id: ID, status: 'running' });
    gateway.steps.push((_answer, response) =>
        response.writeHead(202).end(JSON.stringify({ execution_id: ID, status: 'running' })),
    );
    const error = await failure(gateway.client({ timeoutMs: 300 }).execute(AGENT, 'a task'));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ executionId: ID, idempotencyKey: gateway.keys[0] });
});

test('a call that is worked on until the time is over has an unknown outcome', async () => {
    gateway.steps.push(...Array<Step>(1_000).fill(refuse(409, 'conflict', { 'retry-after': '0' }, ID)));
    const error = await failure(gateway.client({ timeoutMs: 200 }).execute(AGENT, 'a task'));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ executionId: ID, idempotencyKey: gateway.keys[0] });
    // The last request was stopped, and may take a step of the next test if it comes late.
    await new Promise((resolve) => setTimeout(resolve, 100));
});

test('a key that is refused while its call is settled leaves the outcome unknown', async () => {
    const gone = { error: { code: 'unauthorized', message: 'so', execution_id: null } };
    const asked = async (url: string, init: RequestInit): Promise<Response> =>
        url.endsWith('/execute') ? fetch(url, init) : new Response(JSON.stringify(gone), { status: 401 });
    gateway.steps.push((_answer, response) =>
        response.writeHead(202).end(JSON.stringify({ execution_id: ID, status: 'running' })),
    );
    const error = await failure(gateway.client({ fetch: asked }).execute(AGENT, 'a task'));
    expect(error).toMatchObject({ name: 'OutcomeUnknownError', executionId: ID, cause: { code: 'unauthorized' } });
});

test('an attempt without an answer is given up, and the call goes on', async () => {
    gateway.steps.push((answer) => void answer());
    const { result } = await gateway.client({ attemptTimeoutMs: 100 }).execute(AGENT, 'a task');
    expect(result).toBe('a result');
    expect(gateway.charged.size).toBe(1);
});

test('a caller can stop a call, and keeps its key', async () => {
    gateway.steps.push((answer) => void answer());
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough')), 50);
    const error = await failure(gateway.client().execute(AGENT, 'a task', { signal: controller.signal }));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as OutcomeUnknownError).idempotencyKey).toBe(gateway.keys[0]);
});

test('a given key is sent as it is', async () => {
    await gateway.client().execute(AGENT, 'a task', { idempotencyKey: 'order-7' });
    expect(gateway.keys).toEqual(['order-7']);
});

test('an answer larger than every answer is not read to its end', async () => {
    const endless: Step = (_answer, response) => {
        const chunk = Buffer.alloc(1024 * 1024, 32);
        const more = (): void => {
            if (!response.destroyed) response.write(chunk, () => setImmediate(more));
        };
        more();
    };
    gateway.steps.push(endless);
    expect((await gateway.client().execute(AGENT, 'a task')).result).toBe('a result');
});

test('a redirect is not followed with the key', async () => {
    gateway.steps.push(refuse(307, null, { location: 'http://127.0.0.1:9/' }));
    await expect(gateway.client().execute(AGENT, 'a task')).rejects.toMatchObject({ status: 307 });
});

test('plain http to another machine is refused', () => {
    expect(() => new Client('http://crtx.example', 'crtx_test_x')).toThrow('plain http');
    expect(new Client('http://crtx.example', 'crtx_test_x', { allowHttp: true })).toBeInstanceOf(Client);
});

test('what has no hash is refused before it is sent', async () => {
    const wrong = [
        { parameters: { n: 2 ** 53 + 2 } },
        { parameters: { n: Number.NaN } },
        { parameters: { t: '\ud800' } },
    ];
    for (const options of wrong)
        await expect(gateway.client().execute(AGENT, 'a task', options)).rejects.toThrow(TypeError);
    await expect(gateway.client().execute(AGENT, '\ud800')).rejects.toThrow(TypeError);
    expect(gateway.keys).toEqual([]);
});

test('a result of another hash is refused with the check that failed', async () => {
    const good = await answerOf('a result');
    for (const [change, check] of [
        [{ result: 'another' }, 'result'],
        [{ ipfs_url: 'http://x/ipfs/bafkrei' }, 'address'],
    ] as const) {
        gateway.steps.push((_answer, response) => response.end(JSON.stringify({ ...good, ...change })));
        const error = await failure(gateway.client().execute(AGENT, 'a task'));
        expect(error).toBeInstanceOf(VerificationError);
        expect(error).toMatchObject({ check, idempotencyKey: gateway.keys.at(-1) });
    }
});

async function failure(call: Promise<unknown>): Promise<unknown> {
    return call.then(
        () => expect.fail('the call did not fail'),
        (error: unknown) => error,
    );
}
