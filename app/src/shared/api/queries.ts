// Queries that several features share, and how all queries behave.

import { QueryClient, queryOptions } from '@tanstack/react-query';

import { ApiError, api, body } from './client';
import { keepNetwork } from './lastNetwork';
import { RARELY_MS } from '../seldom';

const MAX_RETRIES = 2;

/**
 * Retries after failures that can pass: no connection, an overloaded service. Never after an answer that would be the
 * same again.
 */
const isWorthAnotherTry = (failures: number, error: Error): boolean =>
    failures < MAX_RETRIES && error instanceof ApiError && (error.status === 0 || error.status === 503);

export const makeQueryClient = (): QueryClient =>
    new QueryClient({
        defaultOptions: {
            queries: { retry: isWorthAnotherTry, retryDelay: (failures) => 400 * 2 ** failures, staleTime: 5_000 },
        },
    });

/** What a client needs to know about the deployment. */
export const networkQuery = queryOptions({
    queryKey: ['network'],
    queryFn: async ({ signal }) => {
        const network = await body(api.GET('/v1/network', { signal }));
        keepNetwork(network);
        return network;
    },
    staleTime: 30_000,
});

/** The state of the index and of its chain. */
export const statusQuery = queryOptions({
    queryKey: ['status'],
    queryFn: ({ signal }) => body(api.GET('/v1/status', { signal })),
    refetchInterval: RARELY_MS,
});
