// @vitest-environment happy-dom
// What a page reads again when an event of its wallet comes.

import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

/** The client takes `fetch` when it is loaded. */
const service = vi.hoisted(() => {
    const service = {
        status: 200,
        asked: [] as Request[],
        streams: [] as ReadableStreamDefaultController<Uint8Array>[],
    };
    vi.stubGlobal('fetch', async (request: Request) => {
        service.asked.push(request);
        if (service.status !== 200) {
            return Response.json({ error: { code: 'rate_limited', message: 'x' } }, { status: service.status });
        }
        const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
            service.streams.push(controller);
            request.signal.addEventListener('abort', () => controller.error(request.signal.reason));
        };
        return new Response(new ReadableStream({ start }), { headers: { 'content-type': 'text/event-stream' } });
    });
    return service;
});

import { followEvents, unlessFollowed } from '../src/shared/wallet/events';

const WALLET = '82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8';

const isHidden = vi.spyOn(document, 'hidden', 'get');
let queries: QueryClient;
let reads: Record<string, number>;
let leave: () => void;

const send = (text: string): void => service.streams.at(-1)?.enqueue(new TextEncoder().encode(text));
const happen = (type: string): void => send(`id: 1\nevent: ${type}\ndata: {"type":"${type}"}\n\n`);

/** What was read since the last time. */
const readNow = async (): Promise<string[]> => {
    await vi.advanceTimersByTimeAsync(900);
    const names = Object.keys(reads).sort();
    reads = {};
    return names;
};

beforeEach(async () => {
    vi.useFakeTimers();
    Object.assign(service, { status: 200, asked: [], streams: [] });
    reads = {};
    isHidden.mockReturnValue(false);
    queries = new QueryClient();
    for (const name of ['execution', 'executions', 'on-chain', 'disputes', 'keys', 'wallet', 'network', 'webhooks']) {
        const queryFn = () => {
            reads[name] = (reads[name] ?? 0) + 1;
            return name;
        };
        new QueryObserver(queries, { queryKey: [name, WALLET], queryFn }).subscribe(() => undefined);
    }
    leave = followEvents(queries, WALLET);
    await readNow();
});

afterEach(() => {
    leave();
    queries.clear();
    vi.useRealTimers();
});

test('an event makes what it is about be read again, once for events that come together', async () => {
    expect(service.asked.map((request) => request.headers.get('X-Crtx-Wallet'))).toEqual([WALLET]);
    send('retry: 1000\nid: 1\n\n:\n\n');
    for (let event = 0; event < 5; event += 1) happen('key.created');
    await vi.advanceTimersByTimeAsync(200);
    expect(reads).toEqual({});
    await vi.advanceTimersByTimeAsync(200);
    expect(reads).toEqual({ keys: 1 });
    reads = {};
    send('id: 2\neve');
    send('nt: execution.completed\ndata: {}\n\n');
    expect(await readNow()).toEqual(['execution', 'executions', 'keys', 'on-chain']);
    // It is read once more when the index has had time.
    await vi.advanceTimersByTimeAsync(3_000);
    expect(reads).toEqual({ execution: 1, executions: 1, keys: 1, 'on-chain': 1 });
    reads = {};
    happen('payout');
    expect(await readNow()).toEqual(['executions', 'wallet']);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(reads).toEqual({});
    expect(await readNow()).toEqual(['executions', 'wallet']);
    happen('dispute.opened');
    expect(await readNow()).toEqual(['disputes', 'execution', 'executions', 'wallet']);
    await vi.advanceTimersByTimeAsync(3_000);
    reads = {};
    happen('webhook.disabled');
    expect(await readNow()).toEqual(['webhooks']);
    await vi.advanceTimersByTimeAsync(3_000);
    reads = {};
    happen('something.new');
    expect(await readNow()).toEqual([]);
});

test('the execution that an event is about is read at once, and no other one', async () => {
    const [id, other] = ['806e1eba-133b-4100-9a5e-ddbe7c578906', '00000000-0000-4000-8000-000000000000'];
    for (const of of [id, other]) {
        const queryFn = () => {
            reads[of] = (reads[of] ?? 0) + 1;
            return of;
        };
        new QueryObserver(queries, { queryKey: ['execution', of, WALLET], queryFn }).subscribe(() => undefined);
    }
    await readNow();
    send(`id: 1\nevent: execution.completed\ndata: {"execution_id":"${id}"}\n\n`);
    await vi.advanceTimersByTimeAsync(1);
    expect(reads).toEqual({ [id]: 1 });
});

test('a page asks seldom while its stream is open, and as before until a stream that ended is open again', async () => {
    expect([2_000, 90_000].map(unlessFollowed)).toEqual([60_000, 90_000]);
    service.streams.at(-1)?.close();
    await vi.advanceTimersByTimeAsync(500);
    expect(unlessFollowed(2_000)).toBe(2_000);
    expect(reads['executions']).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([unlessFollowed(2_000), service.streams.length, reads['executions']]).toEqual([60_000, 2, 2]);
});

test('a stream that is refused is tried again later, and the page asks meanwhile', async () => {
    service.status = 429;
    service.streams.at(-1)?.error(new TypeError('broken off'));
    await vi.advanceTimersByTimeAsync(1_500);
    expect([unlessFollowed(2_000), service.asked.length]).toEqual([2_000, 2]);
    await vi.advanceTimersByTimeAsync(28_000);
    expect(service.asked).toHaveLength(2);
    service.status = 200;
    await vi.advanceTimersByTimeAsync(2_000);
    expect([unlessFollowed(2_000), service.asked.length]).toEqual([60_000, 3]);
});

test('a page that is not shown has no stream, and reads everything when it is shown again', async () => {
    isHidden.mockReturnValue(true);
    document.dispatchEvent(new Event('visibilitychange'));
    await readNow();
    expect(service.asked.map(({ signal }) => signal.aborted)).toEqual([true]);
    expect(unlessFollowed(2_000)).toBe(2_000);
    isHidden.mockReturnValue(false);
    document.dispatchEvent(new Event('visibilitychange'));
    expect(await readNow()).toEqual(['disputes', 'execution', 'executions', 'keys', 'on-chain', 'wallet', 'webhooks']);
    leave();
    expect(service.asked.map(({ signal }) => signal.aborted)).toEqual([true, true]);
});
