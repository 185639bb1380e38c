// Whether the draft's agent is listed already: an earlier transaction may have been taken although this page lost the
// connection or was closed.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useState } from 'react';

import type { Schemas } from '../../shared/api/client';
import { type Market, rpcOf } from './market';
import { agentOf } from './publish';
import type { UseDraft } from './useNewDraft';

const LOOK_MS = 4_000;

/** Its address, `null` if the draft is not listed, `undefined` while the chain has not answered. */
export function useListedAgent(
    wallet: Address,
    network: Schemas['NetworkResponse'] | undefined,
    market: Market | undefined,
    { draft, update }: UseDraft,
): string | null | undefined {
    // An attempt on another chain, such as an earlier local network, listed nothing on this one.
    const attempt = draft.attempt !== null && draft.attempt.genesisHash === market?.genesisHash ? draft.attempt : null;
    const listed = attempt === null ? null : draft.listed;
    // Waits only for an attempt of an earlier visit: a new one belongs to the transaction that this page sends.
    const [earlier] = useState(draft.attempt);
    const isOpen = attempt !== null && listed === null && network !== undefined;
    const { data: found, isPending } = useQuery({
        queryKey: ['listing', 'attempt', wallet, attempt] as const,
        queryFn: async () =>
            network === undefined || attempt === null ? null : agentOf(rpcOf(network), wallet, attempt),
        enabled: isOpen,
        refetchInterval: LOOK_MS,
    });
    const keep = useEffectEvent((agentId: string) => update({ listed: agentId }));
    useEffect(() => {
        if (isOpen && found) keep(found);
    }, [isOpen, found]);
    if (market === undefined) return undefined;
    if (!isOpen) return listed;
    return isPending && attempt === earlier ? undefined : (found ?? null);
}
