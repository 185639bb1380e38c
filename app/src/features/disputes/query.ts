// Disputes as the service has them: the list, how many of each status, and one of them.

import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';

import { ApiError, type Schemas, api, asWallet, body } from '../../shared/api/client';
import type { DisputesSearch } from './search';
import { RARELY_MS, SELDOM_MS } from '../../shared/seldom';

export type Dispute = Schemas['DisputeResponse'];

const PAGE = 20;
/** Answers and decisions come while the page is open. */
const ASK_MS = 10_000;
const MAX_ASKS = 12;
/** A longer list is read again when its reader asks for it. */
const MOST_PAGES_READ_AGAIN = 3;

export const disputesQuery = (wallet: string, search: DisputesSearch) =>
    infiniteQueryOptions({
        queryKey: ['disputes', wallet, search] as const,
        queryFn: ({ pageParam, signal }) => {
            const query = { ...search, limit: PAGE, ...(pageParam !== null && { cursor: pageParam }) };
            return body(api.GET('/v1/disputes', { ...asWallet(wallet), params: { query }, signal }));
        },
        initialPageParam: null as string | null,
        getNextPageParam: (last) => last.next_cursor,
        placeholderData: keepPreviousData,
        refetchInterval: ({ state: { data } }) =>
            data && data.pages.length > MOST_PAGES_READ_AGAIN ? false : SELDOM_MS,
    });

/** The exact number of disputes. */
export const disputeCountQuery = (wallet: string, search: DisputesSearch) =>
    queryOptions({
        queryKey: ['disputes', wallet, 'count', search] as const,
        queryFn: async ({ signal }) => {
            const { total } = await body(
                api.GET('/v1/disputes', { ...asWallet(wallet), params: { query: { ...search, limit: 1 } }, signal }),
            );
            return total;
        },
        placeholderData: keepPreviousData,
        refetchInterval: RARELY_MS,
    });

/** `null`: the service shows no such dispute to the wallet. */
export const disputeQuery = (id: string, wallet: string) =>
    queryOptions({
        queryKey: ['dispute', id, wallet] as const,
        queryFn: ({ signal }) => findDispute(id, wallet, signal),
        // The index may not have a dispute yet that was raised a moment ago.
        refetchInterval: ({ state: { data, dataUpdateCount } }) => {
            if (data?.status === 'open') return SELDOM_MS;
            return data === null && dataUpdateCount < MAX_ASKS ? ASK_MS : false;
        },
    });

async function findDispute(id: string, wallet: string, signal?: AbortSignal): Promise<Dispute | null> {
    try {
        return await body(
            api.GET('/v1/disputes/{id}', { ...asWallet(wallet), params: { path: { id } }, ...(signal && { signal }) }),
        );
    } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
    }
}
