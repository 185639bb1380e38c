// What a seller's handler answers, without a marketplace.

import { serve as serveHono } from '@hono/node-server';
import express from 'express';
import { Hono } from 'hono';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';

import { profileCsv, rowsOf } from '../examples/csv-profile.js';
import { imageFacts } from '../examples/image-facts.js';
import { addressBytes } from '../src/bytes.js';
import {
    type AgentOptions,
    type CallName,
    type Handler,
    type ReplayGuard,
    type Work,
    agent,
    callMessage,
    failureMessage,
    memoryGuard,
    resultHash,
    resultMessage,
    signatureBytes,
    signerOf,
    verifyStrictly,
} from '../src/index.js';
import { nodeHandler, serve } from '../src/node.js';

const { privateKey } = (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as any;
const { d = '', x = '' } = await crypto.subtle.exportKey('jwk', privateKey);
const pair = [...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')];
const { address } = await signerOf(pair);

const call = (change: object = {}) => ({
    execution_id: crypto.randomUUID(),
    task: 'a task',
    parameters: {},
    user_pubkey: 'GrSpjEc97agpReA9jkyCAvwVDoTzZxmJJjRtaCBkR24F',
    timeout_seconds: 30,
    execution_record: '3tjG7821ySm1YQoAAUAS6D2Qne5wVgUXQu51M2DLD7pf',
    opened_at_unix_s: 1_800_000_000,
    ...change,
});

const post = (body: unknown): Request =>
    new Request('http://localhost/', { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });

const make = (work: Work, options: Partial<AgentOptions> = {}): Handler => agent(work, { key: pair, ...options });

async function ask(handler: Handler, body: unknown): Promise<any> {
    const response = await handler(post(body));
    return { http: response.status, ...((await response.json()) as object) };
}

const isSigned = async (message: Uint8Array<ArrayBuffer>, signature: string): Promise<boolean> =>
    verifyStrictly(addressBytes(address), message, signatureBytes(signature));

async function checkCompleted(request: ReturnType<typeof call>, answer: any): Promise<void> {
    expect(answer).toMatchObject({ http: 200, execution_id: request.execution_id, status: 'completed' });
    expect(answer.result_hash).toBe(await resultHash(answer.result));
    const opening = { record: request.execution_record, openedAtUnixS: request.opened_at_unix_s };
    expect(await isSigned(resultMessage(answer.result_hash), answer.signature)).toBe(true);
    expect(await isSigned(callMessage(opening, answer.result_hash), answer.call_signature)).toBe(true);
}

async function checkFailed(request: ReturnType<typeof call>, answer: any, error: RegExp): Promise<void> {
    const none = { result: null, result_hash: null, signature: null };
    expect(answer).toMatchObject({ http: 200, execution_id: request.execution_id, status: 'failed', ...none });
    expect(answer.error).toMatch(error);
    const opening = { record: request.execution_record, openedAtUnixS: request.opened_at_unix_s };
    expect(await isSigned(failureMessage(opening), answer.failure_signature)).toBe(true);
}

describe('an answer', () => {
    test.each(['', 'Zürich, cafe\u0301, 東京, 🦀, \u2028end', 'a\r\nb\u0000', 'x'.repeat(1024 * 1024)])(
        'has the hash and both signatures of its result (%#)',
        async (result) => {
            const request = call();
            await checkCompleted(
                request,
                await ask(
                    make(() => result),
                    request,
                ),
            );
        },
    );

    test('of a value is its JSON', async () => {
        const answer = await ask(
            make(async (task, parameters) => ({ task, parameters })),
            call({ parameters: { a: 1 } }),
        );
        expect(answer.result).toBe('{"task":"a task","parameters":{"a":1}}');
    });

    test('has tokens and steps where the function reports them', async () => {
        const work: Work = (_task, _parameters, { report }) => {
            report({ tokensUsed: 7 });
            report({ steps: [{ did: 'this' }] });
            return 'r';
        };
        expect(await ask(make(work), call())).toMatchObject({ tokens_used: 7, steps: [{ did: 'this' }] });
        const large = await ask(
            make((_t, _p, { report }) => (report({ steps: ['x'.repeat(300_000)] }), 'r')),
            call(),
        );
        expect(large).toMatchObject({ status: 'completed' });
        expect(large.steps).toBeUndefined();
    });

    const failing: [string, Work, RegExp][] = [
        ['raises', () => Promise.reject(new Error('no such city')), /^no such city$/],
        ['throws a long text', () => { throw new Error('x'.repeat(10_000)); }, /^x{500}$/], // prettier-ignore
        ['has no result', () => undefined, /no result/],
        ['has a result that is too large', () => 'é'.repeat(600_000), /larger than 1048576 bytes/],
        ['has half of a surrogate pair', () => 'a \ud800', /Unicode/],
        ['reports a wrong number', (_t, _p, { report }) => report({ tokensUsed: -1 }), /tokensUsed/],
    ];

    test.each(failing)('of a function that %s is a signed failure', async (_name, work, error) => {
        const request = call();
        await checkFailed(request, await ask(make(work), request), error);
    });

    test('to parameters against the schema is a signed failure, and the function does not run', async () => {
        const work = vi.fn(() => 'r');
        const schema = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false };
        const handler = make(work, { schema });
        const request = call({ parameters: { n: 'one' } });
        await checkFailed(request, await ask(handler, request), /schema/);
        expect(work).not.toHaveBeenCalled();
        expect((await ask(handler, call({ parameters: { n: 1 } }))).status).toBe('completed');
    });

    test('after the time-out is a signed failure, and the function is told', async () => {
        const aborted = vi.fn();
        const work: Work = (_task, _parameters, { signal }) => {
            signal.addEventListener('abort', aborted);
            return new Promise(() => undefined);
        };
        const request = call({ timeout_seconds: 1 });
        const timers = vi.spyOn(globalThis, 'setTimeout');
        await checkFailed(request, await ask(make(work), request), /within 1 s/);
        // A tenth of the time is left to sign and to send the answer.
        expect(timers).toHaveBeenCalledWith(expect.anything(), 900);
        timers.mockRestore();
        expect(aborted).toHaveBeenCalledOnce();
    });
});

describe('a request', () => {
    const wrong: [string, unknown][] = [
        ['no JSON', '{'],
        ['null', 'null'],
        ['an id that is none', call({ execution_id: '../x' })],
        ['no task', call({ task: 7 })],
        ['parameters that are a list', call({ parameters: [] })],
        ['no record', call({ execution_record: undefined })],
        ['a record that is no address', call({ execution_record: '1'.repeat(44) + '0' })],
        ['no second', call({ opened_at_unix_s: 1.5 })],
        ['a time-out beyond the longest', call({ timeout_seconds: 901 })],
        ['a body that is too large', `"${'x'.repeat(5 * 1024 * 1024)}"`],
    ];

    test.each(wrong)('with %s is 400, and the function does not run', async (_name, body) => {
        const work = vi.fn(() => 'r');
        expect(await ask(make(work), body)).toMatchObject({ http: 400 });
        expect(work).not.toHaveBeenCalled();
    });

    test('with members that nobody knows is answered', async () => {
        expect(
            await ask(
                make(() => 'r'),
                call({ more: 1 }),
            ),
        ).toMatchObject({ status: 'completed' });
    });

    test('that is no POST names the key', async () => {
        const response = await make(() => 'r')(new Request('http://localhost/'));
        expect(response.status).toBe(405);
        expect(await response.json()).toMatchObject({ result_key: address });
    });
});

describe('a call that comes again', () => {
    test('gets the same answer, and runs once', async () => {
        let runs = 0;
        const handler = make(() => String((runs += 1)));
        const request = call();
        const first = await ask(handler, request);
        expect(await ask(handler, request)).toEqual(first);
        expect(runs).toBe(1);
    });

    test('waits for the run that is under way', async () => {
        let runs = 0;
        const handler = make(async () => {
            runs += 1;
            await new Promise((resolve) => setTimeout(resolve, 50));
            return 'r';
        });
        const request = call();
        const answers = await Promise.all(Array.from({ length: 20 }, () => ask(handler, request)));
        expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
        expect(runs).toBe(1);
    });

    test('does not run again after its time-out, even if the function ends later', async () => {
        let runs = 0;
        let end: (result: string) => void = () => undefined;
        const handler = make(() => ((runs += 1), new Promise((resolve) => (end = resolve))));
        const request = call({ timeout_seconds: 1 });
        const first = await ask(handler, request);
        end('late');
        expect(await ask(handler, request)).toEqual(first);
        expect(first.status).toBe('failed');
        expect(runs).toBe(1);
    });

    test('with another task is another call', async () => {
        const handler = make((task) => task);
        const request = call();
        await ask(handler, request);
        expect((await ask(handler, { ...request, task: 'another' })).result).toBe('another');
    });

    test('is a failure when the process that worked on it is gone', async () => {
        const replay = memoryGuard();
        const request = call({ timeout_seconds: 1 });
        const lost: ReplayGuard = { ...replay, begin: (name: CallName) => replay.begin(name, Date.now() + 200) };
        // The first process begins it and dies.
        await new Promise<void>((begun) => {
            const dying = make(() => (begun(), new Promise(() => undefined)), { replay: lost });
            void dying(post(request));
        });
        const work = vi.fn(() => 'r');
        await checkFailed(request, await ask(make(work, { replay }), request), /not finished/);
        expect(work).not.toHaveBeenCalled();
    });

    test('is not run when the guard does not answer', async () => {
        const work = vi.fn(() => 'r');
        const replay = {
            begin: () => Promise.reject(new Error('redis://secret')),
            finish: () => Promise.reject(new Error()),
        };
        const answer = await ask(make(work, { replay }), call());
        expect(answer.http).toBe(503);
        expect(JSON.stringify(answer)).not.toContain('secret');
        expect(work).not.toHaveBeenCalled();
    });
});

test('the memory of answers is bounded, and a run under way is not forgotten', async () => {
    const replay = memoryGuard({ maxCalls: 10, maxBytes: 2_000 });
    const name = (executionId: string): CallName => ({ executionId, requestHash: 'h' });
    await replay.begin(name('running'), Date.now() + 60_000);
    for (let at = 0; at < 100; at += 1) {
        await replay.begin(name(`${at}`), Date.now() + 60_000);
        await replay.finish(name(`${at}`), 'x'.repeat(300));
    }
    const isKnown = async (id: string) => (await replay.begin(name(id), Date.now() + 60_000)).state !== 'run';
    expect([await isKnown('running'), await isKnown('0'), await isKnown('99')]).toEqual([true, false, true]);
});

test('more calls than allowed at once get 503', async () => {
    let end: (result: string) => void = () => undefined;
    const handler = make(() => new Promise((resolve) => (end = resolve)), { maxRunning: 1 });
    const first = ask(handler, call());
    await vi.waitFor(() => expect(end.name).not.toBe('end'));
    expect(await ask(handler, call())).toMatchObject({ http: 503 });
    end('r');
    expect(await first).toMatchObject({ status: 'completed' });
});

test('a signer of its own signs, and nothing of a call is written', async () => {
    const written = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write'), vi.spyOn(console, 'log')];
    const own = await signerOf(pair);
    const request = call({ task: 'a secret task' });
    await checkCompleted(
        request,
        await ask(
            make(() => 'r', { key: own }),
            request,
        ),
    );
    for (const spy of written) expect(spy.mock.calls.join()).not.toContain('secret');
    for (const spy of written) spy.mockRestore();
});

test('a wrong key is noticed when the handler is made', () => {
    expect(() => make(() => 'r', { key: '[1,2,3]' })).toThrow('64 numbers');
});

describe('behind a server', () => {
    const servers: Server[] = [];
    afterEach(() => servers.splice(0).forEach((server) => server.close()));

    const listen = (start: (done: () => void) => Server): Promise<Server> =>
        new Promise((resolve) => {
            const server = start(() => resolve(server));
        });
    const handler = make((task) => task);
    const kinds: [string, () => Promise<Server>][] = [
        ['node:http', () => serve(handler, { port: 0 })],
        ['Express', () => listen((done) => express().post('/', nodeHandler(handler)).listen(0, done))],
        [
            'Express with a parser',
            () => listen((done) => express().use(express.json()).post('/', nodeHandler(handler)).listen(0, done)),
        ],
        [
            'Hono',
            () => {
                const app = new Hono().post('/', (context) => handler(context.req.raw));
                return listen((done) => serveHono({ fetch: app.fetch, port: 0 }, done) as Server);
            },
        ],
    ];

    test.each(kinds)('%s, the handler answers', async (_name, start) => {
        const server = await start();
        servers.push(server);
        const request = call({ task: 'Zürich 🦀' });
        const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(request),
        });
        expect(response.headers.get('content-type')).toContain('application/json');
        const answer: any = await response.json();
        expect(answer.result).toBe('Zürich 🦀');
        await checkCompleted(request, { http: response.status, ...answer });
    });
});

describe('the profile of a CSV text', () => {
    test('says what its columns have', () => {
        expect(profileCsv('name,age,born\r\n"Ada, ""Countess""",36,1815-12-10\nAlan,41.5,\n')).toEqual({
            rows: 2,
            columns: [
                { name: 'name', kind: 'text', empty: 0, distinct: 2 },
                { name: 'age', kind: 'number', empty: 0, distinct: 2 },
                { name: 'born', kind: 'date', empty: 1, distinct: 1 },
            ],
        });
        expect(rowsOf('a,')).toEqual([['a', '']]);
    });

    test.each(['a,b\n1', 'a"b', '"a'])('refuses what is no table (%j)', (csv) => {
        expect(() => profileCsv(csv)).toThrow(/row/);
    });
});

// Pictures that Pillow wrote.
describe('the facts of a picture', () => {
    const progressive =
        '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAKBueIx4ZKCMgoy0qqC+8P//8Nzc8P//////////////////////////////////' +
        '////////////////////////wgALCAACASwBAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/2gAIAQEAAAABgAAAAAB//8QA' +
        'FBABAAAAAAAAAAAAAAAAAAAAUP/aAAgBAQABBQIb/8QAFBABAAAAAAAAAAAAAAAAAAAAUP/aAAgBAQAGPwIb/8QAFBABAAAA' +
        'AAAAAAAAAAAAAAAAUP/aAAgBAQABPyEb/9oACAEBAAAAEAAAAAAD/8QAFBABAAAAAAAAAAAAAAAAAAAAUP/aAAgBAQABPxAb' +
        '/9k=';

    test.each([
        [
            'iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAYAAACddGYaAAAAE0lEQVR4nGNkZGJmYYACJgYkAAABNAAOEeL7owAAAABJRU5ErkJggg==',
            'png 3x2 8 rgb alpha',
        ],
        [
            'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAEEAAAAAAzyHbfAAAADElEQVR4nGNgIB4AAAAsAAFVg0aWAAAAAElFTkSuQmCC',
            'png 5x4 16 grey',
        ],
        [
            'iVBORw0KGgoAAAANSUhEUgAAAAcAAAACAQMAAACuUVQjAAAAA1BMVEUJCQkAtQW4AAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC',
            'png 7x2 1 palette',
        ],
        ['R0lGODdhBwACAIEAAAkJCQAAAAAAAAAAACwAAAAABwACAAAICAABCBxIkGBAADs=', 'gif 7x2 2 palette'],
        [progressive, 'jpeg 300x2 8 grey'],
    ])('%s is %s', (picture, expected) => {
        const { format, width, height, bits, colour, alpha } = imageFacts(picture);
        expect(`${format} ${width}x${height} ${bits} ${colour}${alpha ? ' alpha' : ''}`).toBe(expected);
    });

    test.each([
        ['no base64', '!'],
        ['nothing', ''],
        ['another format', btoa('RIFF'.repeat(20))],
        ['half a picture', progressive.slice(0, 120)],
        ['a picture without pixels', btoa(`GIF89a${'\0'.repeat(30)}`)],
        ['segments without an end', btoa(`\xff\xd8${'\xff'.repeat(50_000)}`)],
    ])('refuses %s', (_name, text) => {
        expect(() => imageFacts(text)).toThrow();
    });
});
