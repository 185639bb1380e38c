// Whether the service shows a listing as it is on chain: it reads the chain and checks the document first.

import type { Address } from '@solana/kit';
import { useQuery, useQueryClient } from '@tanstack/react-query';

import { hexOf } from '../../chain/accounts';
import { termsHash } from '../../chain/terms';
import { ApiError, type Schemas, api, body } from '../../shared/api/client';
import { UserText } from '../../shared/text/UserText';
import { Failure } from '../../shared/ui/Failure';
import { agentQuery } from '../agent';
import { readListing, readMarket, rpcOf } from './market';
import { words } from './words';

const ASK_MS = 1_000;
const SHOWN = words.shownState.shown;
const NOT_YET = words.shownState.notYet;

export type ShownStateProps = { agentId: Address; network: Schemas['NetworkResponse'] };

export function ShownState({ agentId, network }: ShownStateProps) {
    const queries = useQueryClient();
    const { data, error } = useQuery({
        queryKey: ['listing', 'shown', agentId] as const,
        queryFn: async () => {
            const state = await lookAt(agentId, network);
            if (state.agent !== null) queries.setQueryData(agentQuery(agentId).queryKey, state.agent);
            return state;
        },
        // Each visit waits again: the listing may just have changed.
        staleTime: 0,
        gcTime: 0,
        refetchInterval: ({ state }) => (state.data?.agent ? false : ASK_MS),
    });
    if (error && data === undefined) return <Failure error={error} />;
    return (
        <p role="status">
            {data?.agent ? SHOWN : NOT_YET}
            {data?.reason != null && !data.agent && (
                <>
                    {' '}
                    {words.shownState.says} <UserText text={data.reason} />
                </>
            )}
        </p>
    );
}

type Look = { readonly agent: Schemas['AgentResponse'] | null; readonly reason: string | null };

/** The agent is there only if the service shows the terms that are on chain. */
async function lookAt(agentId: Address, network: Schemas['NetworkResponse']): Promise<Look> {
    const path = { params: { path: { agent_id: agentId } } };
    const rpc = rpcOf(network);
    const [listing, { config }, state] = await Promise.all([
        readListing(rpc, agentId),
        readMarket(rpc),
        orNull(body(api.GET('/v1/agents/{agent_id}/listing', path))),
    ]);
    const reason = state?.reason?.message ?? null;
    if (listing === null || state?.shown !== true) return { agent: null, reason };
    const agent = await orNull(body(api.GET('/v1/agents/{agent_id}', path)));
    const terms = hexOf(await termsHash(listing, config.parameters));
    return { agent: agent?.terms_hash === `sha256:${terms}` ? agent : null, reason };
}

/** The index has not reached it yet. */
const orNull = <T,>(answer: Promise<T>): Promise<T | null> =>
    answer.catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
    });
