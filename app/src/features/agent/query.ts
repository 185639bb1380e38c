// One agent with everything that the service knows about it.

import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { notFound } from '@tanstack/react-router';

import { ApiError, type Schemas, api, body } from '../../shared/api/client';
import { RARELY_MS } from '../../shared/seldom';

export type Agent = Schemas['AgentResponse'];
export type AgentHistory = Schemas['AgentHistoryResponse'];

const pathOf = (agentId: string) => ({ path: { agent_id: agentId } });

export const agentQuery = (agentId: string) =>
    queryOptions({
        queryKey: ['agent', agentId] as const,
        queryFn: ({ signal }) => body(api.GET('/v1/agents/{agent_id}', { params: pathOf(agentId), signal })),
    });

/**
 * Loads an agent for a page of it. An address of no agent, or no address at all (400), is a page that does not exist.
 */
export async function loadAgent(queryClient: QueryClient, agentId: string): Promise<void> {
    try {
        await queryClient.query({ ...agentQuery(agentId), staleTime: 'static' });
    } catch (error) {
        if (error instanceof ApiError && (error.status === 404 || error.status === 400)) throw notFound();
        throw error;
    }
}

/** Days and newest executions. */
export const historyQuery = (agentId: string) =>
    queryOptions({
        queryKey: ['agent', agentId, 'history'] as const,
        queryFn: ({ signal }) => body(api.GET('/v1/agents/{agent_id}/history', { params: pathOf(agentId), signal })),
        refetchInterval: RARELY_MS,
    });

/** The document of the listing. */
export const listingQuery = (agentId: string) =>
    queryOptions({
        queryKey: ['agent', agentId, 'listing'] as const,
        queryFn: ({ signal }) => body(api.GET('/v1/agents/{agent_id}/listing', { params: pathOf(agentId), signal })),
    });
