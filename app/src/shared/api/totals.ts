// Sums over the executions of a wallet in a time, by day, key, agent or status.

import { queryOptions } from '@tanstack/react-query';

import { type Schemas, api, asWallet, body } from './client';
import type { operations } from './schema';

export type Totals = Schemas['ExecutionTotalsResponse'];
export type TotalsGroup = Schemas['ExecutionTotals'];
/** Of all groups, or of one. */
export type TotalFigures = Omit<TotalsGroup, 'day' | 'session_public_key' | 'agent_id' | 'agent_name' | 'status'>;
export type Role = Schemas['ExecutionRoleName'];

export type TotalsQuery = NonNullable<operations['get_execution_totals']['parameters']['query']>;

export const readTotals = (wallet: string, query: TotalsQuery, signal: AbortSignal): Promise<Totals> =>
    body(api.GET('/v1/executions/totals', { ...asWallet(wallet), params: { query }, signal }));

/** Events of executions make these be read again, as they do lists of executions. */
export const totalsQuery = (wallet: string, query: TotalsQuery) =>
    queryOptions({
        queryKey: ['executions', wallet, 'totals', query] as const,
        queryFn: ({ signal }) => readTotals(wallet, query, signal),
    });
