// The market's totals day by day.

import { queryOptions } from '@tanstack/react-query';

import { type Schemas, api, body } from '../../../shared/api/client';
import { RARELY_MS } from '../../../shared/seldom';

/** A day (UTC). */
export type MarketDay = Schemas['MarketDayResponse'];

export type MarketHistory = Schemas['MarketHistoryResponse'];

export const marketHistoryQuery = queryOptions({
    queryKey: ['history'] as const,
    queryFn: ({ signal }) => body(api.GET('/v1/history', { signal })),
    refetchInterval: RARELY_MS,
});
