// The events of the wallet that is signed in, as they happen: what they are about is read again at once, so the page need
// not ask for it again and again. Without a session or a stream it asks.

import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

import { sessionQuery } from './useSession';

const STREAM = '/v1/events/stream';
/** How often a page asks that is told. */
const TOLD_MS = 60_000;
/** Events within this time are followed by one reading. */
const GATHER_MS = 300;
/** After an answer that a browser does not connect again after. */
const RETRY_MS = 30_000;

const STATES = {
    execution: ['opened', 'running', 'completed', 'failed', 'refunded'],
    dispute: ['opened', 'answered', 'resolved', 'expired'],
    agent: ['listed', 'updated', 'paused', 'resumed', 'delisted', 'slashed', 'hidden', 'shown'],
    key: ['created', 'revoked', 'exhausted'],
};
const PAYOUT = ['executions', 'wallet'];
/** The queries that show what an event is about. */
const SHOWN_BY = {
    execution: ['execution', 'executions', 'refundable', 'keys'],
    dispute: ['dispute', 'disputes', 'dispute-case', 'execution', 'executions', 'wallet'],
    agent: ['agent', 'agents', 'own-agent', 'own-listings', 'wallet'],
    key: ['keys'],
};
const ALL = [...PAYOUT, ...Object.values(SHOWN_BY).flat()];

let isTold = false;

/** How often a query asks that events are about. */
export const unlessTold = (ms: number): number => (isTold ? Math.max(ms, TOLD_MS) : ms);

/** Follows the events of a wallet while the page is shown: a browser has few connections for all of its tabs. */
export function followEvents(queries: QueryClient, wallet: string): () => void {
    let source: EventSource | null = null;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let gathering: ReturnType<typeof setTimeout> | undefined;
    const old = new Set<unknown>();
    const readAgain = (names: readonly string[]): void => {
        names.forEach((name) => old.add(name));
        gathering ??= setTimeout(() => {
            gathering = undefined;
            const names = new Set(old);
            old.clear();
            void queries.invalidateQueries({ predicate: ({ queryKey }) => names.has(queryKey[0]) });
        }, GATHER_MS);
    };
    const tell = (is: boolean): void => {
        // What happened in between is seen, and how often to ask is decided again.
        if (is !== isTold) readAgain(ALL);
        isTold = is;
    };
    const close = (): void => {
        source?.close();
        source = null;
        clearTimeout(retry);
        tell(false);
    };
    const open = (): void => {
        close();
        const opened = new EventSource(STREAM);
        source = opened;
        opened.onopen = () => tell(true);
        opened.onerror = () => {
            tell(false);
            if (opened.readyState !== EventSource.CLOSED) return;
            retry = setTimeout(open, RETRY_MS);
            // The session may be over.
            void queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
        };
        const on = (type: string, names: readonly string[]): void =>
            opened.addEventListener(type, ({ data }: MessageEvent<string>) => {
                // Another tab may have signed in with another wallet.
                if ((JSON.parse(data) as { wallet: string }).wallet === wallet) readAgain(names);
            });
        on('payout', PAYOUT);
        for (const [subject, states] of Object.entries(STATES)) {
            for (const state of states) on(`${subject}.${state}`, SHOWN_BY[subject as keyof typeof SHOWN_BY]);
        }
    };
    const look = (): void => (document.hidden ? close() : open());
    document.addEventListener('visibilitychange', look);
    look();
    return () => {
        document.removeEventListener('visibilitychange', look);
        close();
        clearTimeout(gathering);
    };
}

/** Follows the events of the wallet that is signed in. Once, for the whole page. */
export function useEvents(): void {
    const queries = useQueryClient();
    const wallet = useQuery(sessionQuery).data?.wallet;
    useEffect(() => {
        if (wallet === undefined || !('EventSource' in window)) return undefined;
        return followEvents(queries, wallet);
    }, [queries, wallet]);
}
