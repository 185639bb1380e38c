// The list of agents, page after page by cursor.

import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query';

import { type Schemas, api, body } from '../../shared/api/client';
import { type BrowseSearch, sortOf } from './search';

const PAGE = 24;

export type ListedAgent = Schemas['AgentSummary'];

/** The view changes nothing of what is listed. */
const filtersOf = ({ view: _view, ...filters }: BrowseSearch): BrowseSearch => filters;

export const agentsQuery = (search: BrowseSearch) =>
    infiniteQueryOptions({
        queryKey: ['agents', filtersOf(search)] as const,
        queryFn: ({ pageParam, signal }) => {
            const { min_success_rate, min_executions, verified_only, ...rest } = filtersOf(search);
            const query = {
                ...rest,
                // The service has another order without a choice.
                sort: sortOf(search),
                limit: PAGE,
                ...(min_success_rate !== undefined && { min_success_rate: Number(min_success_rate) }),
                ...(min_executions !== undefined && { min_executions: Number(min_executions) }),
                ...(verified_only !== undefined && { verified_only: true }),
                ...(pageParam !== null && { cursor: pageParam }),
            };
            return body(api.GET('/v1/agents', { params: { query }, signal }));
        },
        initialPageParam: null as string | null,
        getNextPageParam: (last) => last.next_cursor,
        // The list stays visible while the user types the next letter.
        placeholderData: keepPreviousData,
    });
