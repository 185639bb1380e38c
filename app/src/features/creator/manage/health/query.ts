// The health of an agent and its earnings by day. Both belong to the creator alone.

import { queryOptions } from '@tanstack/react-query';

import type { EarningsDay } from '../../earnings/history';
import { type AgentHealth, type DayOfCalls, read } from '../contract';

/** Events of payouts and disputes make them be read again at once; no event tells of a call that fails. */
const SELDOM_MS = 60_000;

export const healthQuery = (wallet: string, agentId: string) =>
    queryOptions({
        queryKey: ['own-agent', agentId, wallet, 'health'] as const,
        queryFn: ({ signal }) =>
            read<AgentHealth>(wallet, '/v1/agents/{agent_id}/health', { path: { agent_id: agentId } }, signal),
        refetchInterval: SELDOM_MS,
    });

/** The service looks at 30 days, today among them, unless it is asked for others. */
export const WINDOW_DAYS = 30;

export const earningsQuery = (wallet: string, agentId: string) =>
    queryOptions({
        queryKey: ['own-agent', agentId, wallet, 'earnings'] as const,
        queryFn: async ({ signal }): Promise<EarningsDay[]> => {
            const query = { role: 'creator', by: 'day', agent_id: agentId };
            const { groups } = await read<{ groups: DayOfCalls[] }>(wallet, '/v1/executions/totals', { query }, signal);
            return groups.flatMap(dayOf);
        },
        refetchInterval: SELDOM_MS,
    });

const dayOf = ({ day, completed, failed, disputed, creator_usdc, platform_usdc }: DayOfCalls): EarningsDay[] =>
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
