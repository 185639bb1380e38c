// The API keys of a wallet at the service: the list, and what changes it.

import { infiniteQueryOptions } from '@tanstack/react-query';

import { ApiError, type Schemas, api, asWallet, body } from '../../shared/api/client';
import { unlessFollowed } from '../../shared/wallet/events';
import type { PendingKey } from './pending';

export type Key = Schemas['KeyAnswer'];
export type KeyState = Schemas['KeyState'];

const PAGE = 100;
const OFTEN_MS = 1_500;
/** No event tells of a key that expires. */
const ASK_MS = 10_000;
/** How often a registration is tried while the service cannot take it yet, and how long apart. */
const ATTEMPTS = 12;
const PAUSE_MS = 1_000;
export const MAX_NAME_CHARS = 64;

/** Newest first. Asked again often while the index does not show a grant yet. */
export const keysQuery = (wallet: string) =>
    infiniteQueryOptions({
        queryKey: ['keys', wallet] as const,
        queryFn: ({ pageParam, signal }) =>
            body(
                api.GET('/v1/keys', {
                    ...asWallet(wallet),
                    params: { query: { limit: PAGE, offset: pageParam } },
                    signal,
                }),
            ),
        initialPageParam: 0,
        getNextPageParam: ({ offset, keys, total }) =>
            keys.length > 0 && offset + keys.length < total ? offset + keys.length : null,
        refetchInterval: ({ state: { data } }) => {
            const isBehind = data?.pages.some(({ keys }) => keys.some(({ state }) => state === 'pending'));
            return isBehind === true ? OFTEN_MS : unlessFollowed(ASK_MS);
        },
    });

/** Tells the service whose key it is. A repeated request has the same answer. */
export async function register({
    wallet,
    name,
    sessionKey,
    proof,
    lastFour,
}: Omit<PendingKey, 'genesisHash' | 'createdAt'>): Promise<Key> {
    const request = { name, session_public_key: sessionKey, proof, last_four: lastFour };
    for (let attempt = 1; ; attempt += 1) {
        try {
            return await body(api.POST('/v1/keys', { ...asWallet(wallet), body: request }));
        } catch (error) {
            if (!isForNow(error) || attempt === ATTEMPTS) throw error;
            await new Promise((resolve) =>
                setTimeout(resolve, Math.max(PAUSE_MS, ((error as ApiError).retryAfterSeconds ?? 0) * 1_000)),
            );
        }
    }
}

/** The node that the service asks may not have the grant yet, or the service may be busy. */
const isForNow = (error: unknown): boolean =>
    error instanceof ApiError && (error.status === 0 || error.status === 404 || error.retryAfterSeconds !== null);

export const rename = (wallet: string, sessionKey: string, name: string): Promise<Key> =>
    body(
        api.PATCH('/v1/keys/{session_public_key}', {
            ...asWallet(wallet),
            params: { path: { session_public_key: sessionKey } },
            body: { name },
        }),
    );

/** The service refuses the key from then on. A key that it does not know is fine. */
export async function revokeAtService(wallet: string, sessionKey: string): Promise<void> {
    try {
        await api.DELETE('/v1/keys/{session_public_key}', {
            ...asWallet(wallet),
            params: { path: { session_public_key: sessionKey } },
        });
    } catch (error) {
        if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
}
