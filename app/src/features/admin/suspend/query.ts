// The listing that may be suspended, as the chain has it.

import { type Address, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { readListing } from '../../../chain/listing';
import { SELDOM_MS } from '../../../shared/seldom';

/** `rpcUrl`: empty while it is not known, or if the service names no node. */
export const suspensionQuery = (agent: Address, rpcUrl: string) =>
    queryOptions({
        queryKey: ['listing', 'suspension', agent, rpcUrl] as const,
        queryFn: () => readListing(createSolanaRpc(rpcUrl), agent),
        enabled: rpcUrl !== '',
        refetchInterval: SELDOM_MS,
    });
