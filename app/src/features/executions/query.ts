// The executions of a wallet, page after page by cursor, and what it can get back.

import type { Address } from '@solana/kit';
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';

import { type Schemas, api, asWallet, body } from '../../shared/api/client';
import { SELDOM_MS } from '../../shared/seldom';
import { isFollowed, unlessFollowed } from '../../shared/wallet/events';
import type { ExecutionsSearch } from './search';

const PAGE = 25;
const OFTEN_MS = 2_000;
const ASK_MS = 15_000;
/** No event tells a creator of a call that begins, fails or is refunded: such a call appears with the next reading. */
const CREATORS_MS = 30_000;
/** A longer list is read again when its reader asks for it. */
const MOST_PAGES_READ_AGAIN = 3;

export type ListedExecution = Schemas['ExecutionSummary'];
export type ExecutionsPageAnswer = Schemas['ExecutionListResponse'];
export type Refundable = Schemas['RefundableExecution'];

export const isUnderWay = ({ status }: Pick<ListedExecution, 'status'>): boolean =>
    status === 'pending' || status === 'running';

export const readPage = (
    wallet: string,
    search: ExecutionsSearch,
    limit: number,
    cursor: string | null,
    signal: AbortSignal,
): Promise<ExecutionsPageAnswer> =>
    body(
        api.GET('/v1/executions', {
            ...asWallet(wallet),
            params: { query: { ...search, limit, ...(cursor !== null && { cursor }) } },
            signal,
        }),
    );

export const executionsQuery = (wallet: Address, search: ExecutionsSearch) =>
    infiniteQueryOptions({
        queryKey: ['executions', wallet, search] as const,
        queryFn: ({ pageParam, signal }) => readPage(wallet, search, PAGE, pageParam, signal),
        initialPageParam: null as string | null,
        getNextPageParam: (last) => last.next_cursor,
        placeholderData: keepPreviousData,
        refetchInterval: ({ state: { data } }) => {
            if (data === undefined || data.pages.length > MOST_PAGES_READ_AGAIN) return false;
            if (isFollowed()) return search.role === 'creator' ? CREATORS_MS : SELDOM_MS;
            return data.pages.some(({ executions }) => executions.some(isUnderWay)) ? OFTEN_MS : ASK_MS;
        },
    });

/** Open executions of the wallet whose deadline has passed. */
export const refundableQuery = (wallet: Address) =>
    queryOptions({
        queryKey: ['refundable', wallet] as const,
        queryFn: async ({ signal }) =>
            (await body(api.GET('/v1/wallets/{wallet}', { ...asWallet(wallet), params: { path: { wallet } }, signal })))
                .refundable ?? [],
        // No event tells of a deadline that passes.
        refetchInterval: () => unlessFollowed(ASK_MS),
    });
