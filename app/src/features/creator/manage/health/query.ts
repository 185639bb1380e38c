// The health of an agent and its earnings by day. Both belong to the creator alone. Events of payouts and disputes make
// them be read again at once; no event tells of a call that fails.

import { queryOptions } from '@tanstack/react-query';

import { api, asWallet, body } from '../../../../shared/api/client';
import { type TotalsGroup, readTotals } from '../../../../shared/api/totals';
import { SELDOM_MS } from '../../../../shared/seldom';
import { dayOf, dayText } from '../../../../shared/time/days';
import type { EarningsDay } from '../../earnings/history';

export const healthQuery = (wallet: string, agentId: string) =>
    queryOptions({
        queryKey: ['own-agent', agentId, wallet, 'health'] as const,
        queryFn: ({ signal }) =>
            body(
                api.GET('/v1/agents/{agent_id}/health', {
                    ...asWallet(wallet),
                    params: { path: { agent_id: agentId } },
                    signal,
                }),
            ),
        refetchInterval: SELDOM_MS,
    });

/** Today among them: twice the longest window of the plot, so that it can be compared with the one before. */
export const WINDOW_DAYS = 180;

const firstDay = (): string => `${dayText(dayOf(new Date()) - WINDOW_DAYS + 1)}T00:00:00Z`;

export const earningsQuery = (wallet: string, agentId: string) =>
    queryOptions({
        queryKey: ['own-agent', agentId, wallet, 'earnings'] as const,
        queryFn: async ({ signal }): Promise<EarningsDay[]> => {
            const query = { role: 'creator', by: 'day', agent_id: agentId, from: firstDay() } as const;
            const { groups } = await readTotals(wallet, query, signal);
            return groups.flatMap(earningsOf);
        },
        refetchInterval: SELDOM_MS,
    });

const earningsOf = ({ day, completed, failed, disputed, creator_usdc, platform_usdc }: TotalsGroup): EarningsDay[] =>
    day === null
        ? []
        : [
              {
                  day,
                  completed_executions: completed,
                  failed_executions: failed,
                  disputed_executions: disputed,
                  earned_usdc: creator_usdc,
                  fees_usdc: platform_usdc,
              },
          ];
