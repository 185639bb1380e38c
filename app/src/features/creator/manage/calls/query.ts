// The calls of one own agent, newest first, page after page by cursor.

import { infiniteQueryOptions } from '@tanstack/react-query';

import { api, asWallet, body } from '../../../../shared/api/client';
import { unlessFollowed } from '../../../../shared/wallet/events';

const PAGE = 25;
const ASK_MS = 15_000;
/** A longer list is read again when its reader asks for it. */
const MOST_PAGES_READ_AGAIN = 1;

export const callsQuery = (wallet: string, agentId: string) =>
    infiniteQueryOptions({
        queryKey: ['executions', wallet, 'of-agent', agentId] as const,
        queryFn: ({ pageParam, signal }) => {
            const page = { limit: PAGE, ...(pageParam && { cursor: pageParam }) };
            const query = { role: 'creator', agent_id: agentId, ...page } as const;
            return body(api.GET('/v1/executions', { ...asWallet(wallet), params: { query }, signal }));
        },
        initialPageParam: null as string | null,
        getNextPageParam: (last) => last.next_cursor,
        refetchInterval: ({ state: { data } }) =>
            data === undefined || data.pages.length > MOST_PAGES_READ_AGAIN ? false : unlessFollowed(ASK_MS),
    });
