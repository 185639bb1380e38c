// The agents of one creator that the market lists, page after page. What else the page shows are the queries of the
// wallet and of one agent.

import { infiniteQueryOptions } from '@tanstack/react-query';

import { type Schemas, api, body } from '../../shared/api/client';

const PAGE = 25;
/** More agents of one creator are left to the list of all agents. */
const MAX_PAGES = 4;

export type ListedAgent = Schemas['AgentSummary'];

export const agentsOfQuery = (creator: string) =>
    infiniteQueryOptions({
        queryKey: ['agents', 'of', creator] as const,
        queryFn: ({ pageParam, signal }) => {
            const query = { creator, sort: 'trust' as const, limit: PAGE, ...(pageParam && { cursor: pageParam }) };
            return body(api.GET('/v1/agents', { params: { query }, signal }));
        },
        initialPageParam: null as string | null,
        getNextPageParam: (last, pages) => (pages.length < MAX_PAGES ? last.next_cursor : null),
    });
