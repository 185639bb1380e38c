// @vitest-environment happy-dom
// What a page reads again when an event of its wallet comes.

import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { followEvents, unlessTold } from '../src/shared/wallet/events';

const WALLET = '82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8';

class Stream extends EventTarget {
    static readonly CLOSED = 2;
    static all: Stream[] = [];
    readyState = 0;
    onopen: (() => void) | null = null;
    onerror: (() => void) | null = null;

    constructor(readonly url: string) {
        super();
        Stream.all.push(this);
    }

    close(): void {
        this.readyState = Stream.CLOSED;
    }

    send(type: string, wallet = WALLET): void {
        this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify({ wallet }) }));
    }
}

const isHidden = vi.spyOn(document, 'hidden', 'get');
let queries: QueryClient;
let reads: Record<string, number>;
let leave: () => void;

const last = (): Stream => {
    const stream = Stream.all.at(-1);
    if (stream === undefined) throw new Error('no stream');
    return stream;
};

/** What was read since the last time. */
const readNow = async (): Promise<string[]> => {
    await vi.advanceTimersByTimeAsync(1_000);
    const names = Object.keys(reads).sort();
    reads = {};
    return names;
};

beforeEach(async () => {
    vi.useFakeTimers();
    vi.stubGlobal('EventSource', Stream);
    Stream.all = [];
    reads = {};
    isHidden.mockReturnValue(false);
    queries = new QueryClient();
    for (const name of ['execution', 'executions', 'disputes', 'keys', 'wallet', 'network']) {
        const queryFn = () => {
            reads[name] = (reads[name] ?? 0) + 1;
            return name;
        };
        new QueryObserver(queries, { queryKey: [name, WALLET], queryFn }).subscribe(() => undefined);
    }
    leave = followEvents(queries, WALLET);
    last().onopen?.();
    await readNow();
});

afterEach(() => {
    leave();
    queries.clear();
    vi.useRealTimers();
    vi.unstubAllGlobals();
});

test('an event makes what it is about be read again, once for events that come together', async () => {
    for (let event = 0; event < 5; event += 1) last().send('key.created');
    expect(reads).toEqual({});
    await vi.advanceTimersByTimeAsync(400);
    expect(reads).toEqual({ keys: 1 });
    reads = {};
    last().send('execution.completed');
    expect(await readNow()).toEqual(['execution', 'executions', 'keys']);
    last().send('payout');
    expect(await readNow()).toEqual(['executions', 'wallet']);
    last().send('dispute.opened');
    expect(await readNow()).toEqual(['disputes', 'execution', 'executions', 'wallet']);
});

test('an event of another wallet, which signed in at another tab, changes nothing', async () => {
    last().send('dispute.opened', 'another wallet');
    expect(await readNow()).toEqual([]);
});

test('a page asks seldom while it is told, and as before without a stream', async () => {
    expect(unlessTold(2_000)).toBe(60_000);
    last().onerror?.();
    expect(unlessTold(2_000)).toBe(2_000);
    expect(await readNow()).toContain('executions');
    last().onopen?.();
    expect(unlessTold(2_000)).toBe(60_000);
    expect(await readNow()).toContain('executions');
});

test('a stream that is refused is tried again later, and the page asks meanwhile', async () => {
    last().close();
    last().onerror?.();
    expect(unlessTold(2_000)).toBe(2_000);
    await vi.advanceTimersByTimeAsync(29_000);
    expect(Stream.all).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(Stream.all).toHaveLength(2);
});

test('a page that is not shown has no stream, and reads everything when it is shown again', async () => {
    isHidden.mockReturnValue(true);
    document.dispatchEvent(new Event('visibilitychange'));
    expect(Stream.all.map(({ readyState }) => readyState)).toEqual([Stream.CLOSED]);
    await readNow();
    isHidden.mockReturnValue(false);
    document.dispatchEvent(new Event('visibilitychange'));
    last().onopen?.();
    expect(await readNow()).toEqual(['disputes', 'execution', 'executions', 'keys', 'wallet']);
    leave();
    expect(Stream.all.every(({ readyState }) => readyState === Stream.CLOSED)).toBe(true);
});
