// Sums over the executions of a wallet in a time, by day, key or agent: what the overview and the statement are made of.

import { queryOptions } from '@tanstack/react-query';

import { api, asWallet, body } from './client';

// To be replaced by the generated types when the description of the API has the endpoint.
export type TotalFigures = {
    readonly executions: number;
    readonly completed: number;
    readonly failed: number;
    readonly disputed: number;
    /** What callers paid for calls whose escrow was released. */
    readonly paid_usdc: bigint;
    readonly creator_usdc: bigint;
    readonly platform_usdc: bigint;
    readonly refunded_usdc: bigint;
};
export type TotalsGroup = TotalFigures & {
    readonly day: string | null;
    /** Of `by=key`; `null`: the wallet itself paid. */
    readonly session_public_key: string | null;
    readonly agent_id: string | null;
    readonly agent_name: string | null;
    readonly status: string | null;
};
export type Totals = {
    readonly from: string;
    readonly to: string;
    readonly groups: readonly TotalsGroup[];
    readonly total: TotalFigures;
    readonly truncated: boolean;
};

export type Role = 'caller' | 'creator';
export type TotalsQuery = {
    readonly role: Role;
    readonly by: 'day' | 'key' | 'agent' | 'status';
    readonly from: string;
    /** Without it: until now. */
    readonly to?: string;
};
type Read = (
    path: string,
    options: ReturnType<typeof asWallet> & { params: { query: TotalsQuery }; signal: AbortSignal },
) => Promise<{ data?: Totals }>;

/** Events of executions make these be read again, as they do lists of executions. */
export const totalsQuery = (wallet: string, query: TotalsQuery) =>
    queryOptions({
        queryKey: ['executions', wallet, 'totals', query] as const,
        queryFn: ({ signal }) =>
            body((api.GET as Read)('/v1/executions/totals', { ...asWallet(wallet), params: { query }, signal })),
    });
