// The events of the wallet that is signed in, as they happen: what they are about is read again at once, so the page need
// not ask for it again and again. Without a session or a stream it asks.

import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

import { api, asWallet, body } from '../api/client';
import { sessionQuery } from './useSession';
import { SELDOM_MS } from '../seldom';

/** Events within this time are followed by one reading. */
const GATHER_MS = 300;
/**
 * What an event is about is read once more after this time: the service tells of an end before the index has it, and keeps
 * some answers for two seconds.
 */
const INDEXED_MS = 3_000;
/** Before the stream is opened again: after its end, and after a refusal. */
const AGAIN_MS = 1_000;
const RETRY_MS = 30_000;

/** The queries that show what an event is about, by the beginning of its type. */
const SHOWN_BY: Readonly<Record<string, readonly string[]>> = {
    execution: ['execution', 'on-chain', 'executions', 'refundable', 'keys', 'balances'],
    payout: ['executions', 'own-agent', 'own-listings', 'wallet'],
    dispute: ['dispute', 'disputes', 'dispute-case', 'execution', 'executions', 'own-agent', 'own-listings', 'wallet'],
    agent: ['agent', 'agents', 'own-agent', 'own-listings', 'wallet'],
    key: ['keys'],
    webhook: ['webhooks'],
};
/** In the data of an event. */
const EXECUTION_ID = /"execution_id":"([0-9a-f-]{36})"/;
const ALL = Object.values(SHOWN_BY).flat();

let isOpen = false;

/** Whether events tell the page what happens, so that it need not ask. */
export const isFollowed = (): boolean => isOpen;

/** How often a query asks that events are about. */
export const unlessFollowed = (ms: number): number => (isOpen ? Math.max(ms, SELDOM_MS) : ms);

/** Says the type of each event until the stream ends, and the execution that an event of one is about. */
async function read(
    stream: ReadableStream<Uint8Array>,
    tell: (type: string) => void,
    tellOf: (executionId: string) => void,
): Promise<void> {
    const reader = stream.getReader();
    const decoder = new TextDecoder();
    let text = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = (text + decoder.decode(part.value, { stream: true })).split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) {
            if (line.startsWith('event: ')) tell(line.slice('event: '.length));
            const executionId = line.startsWith('data: ') ? EXECUTION_ID.exec(line)?.[1] : undefined;
            if (executionId !== undefined) tellOf(executionId);
        }
    }
}

/** Reads queries again by their names, once for all that are named within this time. */
function gather(queries: QueryClient, ms: number): { read: (names: readonly string[]) => void; stop: () => void } {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const old = new Set<unknown>();
    const read = (names: readonly string[]): void => {
        names.forEach((name) => old.add(name));
        timer ??= setTimeout(() => {
            timer = undefined;
            const names = new Set(old);
            old.clear();
            void queries.invalidateQueries({ predicate: ({ queryKey }) => names.has(queryKey[0]) });
        }, ms);
    };
    return { read, stop: () => clearTimeout(timer) };
}

/** Follows the events of a wallet while the page is shown: a browser has few connections for all of its tabs. */
export function followEvents(queries: QueryClient, wallet: string): () => void {
    let following: AbortController | null = null;
    const [soon, indexed] = [gather(queries, GATHER_MS), gather(queries, INDEXED_MS)];
    const hear = (type: string): void => {
        const names = SHOWN_BY[type.split('.')[0] ?? ''] ?? [];
        soon.read(names);
        indexed.read(names);
    };
    // Somebody may be waiting for the end of this one.
    const hearOf = (executionId: string): void => {
        void queries.invalidateQueries({ queryKey: ['execution', executionId] });
    };
    const setOpen = (is: boolean): void => {
        // What happened in between is seen, and how often to ask is decided again.
        if (is !== isOpen) soon.read(ALL);
        isOpen = is;
    };
    const follow = async (signal: AbortSignal): Promise<void> => {
        for (;;) {
            let pause = RETRY_MS;
            try {
                const options = { ...asWallet(wallet), parseAs: 'stream', signal } as const;
                const stream = await body(api.GET('/v1/events/stream', options));
                if (stream !== null) {
                    setOpen(true);
                    pause = AGAIN_MS;
                    await read(stream, hear, hearOf);
                }
            } catch {
                // Refused or broken off: the page asks meanwhile.
            }
            if (signal.aborted) return;
            setOpen(false);
            await new Promise((resolve) => setTimeout(resolve, pause));
        }
    };
    const leave = (): void => {
        following?.abort();
        following = null;
        setOpen(false);
    };
    const look = (): void => {
        leave();
        if (document.hidden) return;
        following = new AbortController();
        void follow(following.signal);
    };
    document.addEventListener('visibilitychange', look);
    look();
    return () => {
        document.removeEventListener('visibilitychange', look);
        leave();
        soon.stop();
        indexed.stop();
    };
}

/** Follows the events of the wallet that is signed in. Once, for the whole page. */
export function useEvents(): void {
    const queries = useQueryClient();
    const wallet = useQuery(sessionQuery).data?.wallet;
    useEffect(() => (wallet === undefined ? undefined : followEvents(queries, wallet)), [queries, wallet]);
}
