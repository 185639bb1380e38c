// The agents that the search of the header offers.

import { keepPreviousData, queryOptions } from '@tanstack/react-query';

import { api, body } from '../../shared/api/client';

const MOST = 6;

export const foundAgentsQuery = (text: string) =>
    queryOptions({
        queryKey: ['find', text] as const,
        queryFn: async ({ signal }) => {
            // As many characters as the service takes, and no half of a surrogate pair.
            const q = Array.from(text).slice(0, 200).join('');
            const query = { q, sort: 'relevance' as const, limit: MOST };
            return (await body(api.GET('/v1/agents', { params: { query }, signal }))).agents;
        },
        placeholderData: keepPreviousData,
    });
