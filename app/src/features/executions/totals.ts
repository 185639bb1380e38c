// What the executions of a wallet come to: by status, key or agent.

import type { Address } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { type TotalFigures, type Totals, readTotals } from '../../shared/api/totals';
import { formatShare } from '../../shared/figures';
import type { ExecutionsSearch, Status } from './search';
import { words } from './words';

export type TotalsSearch = Pick<ExecutionsSearch, 'role' | 'agent_id' | 'from' | 'to'>;

const DAY_MS = 86_400_000;
/** The longest period of the service, less a minute for the way there. */
const LONGEST_MS = 366 * DAY_MS - 60_000;

const NOTHING: TotalFigures = {
    executions: 0,
    completed: 0,
    failed: 0,
    disputed: 0,
    paid_usdc: 0n,
    creator_usdc: 0n,
    platform_usdc: 0n,
    refunded_usdc: 0n,
    compensation_usdc: 0n,
};

/** Not more than the service reads: the end of a longer period. */
export function periodOf({ from, to }: TotalsSearch, now: number): { from: string; to?: string } {
    const end = to === undefined ? now : Math.min(new Date(to).getTime(), now);
    const start = from === undefined ? 0 : new Date(from).getTime();
    return {
        from: `${new Date(Math.max(start, end - LONGEST_MS)).toISOString().slice(0, 19)}Z`,
        ...(to !== undefined && { to }),
    };
}

/** Whether the totals leave out what is older. */
export const isLonger = ({ from, to }: TotalsSearch, now: number): boolean =>
    (to === undefined ? now : new Date(to).getTime()) - (from === undefined ? 0 : new Date(from).getTime()) >
    LONGEST_MS;

/** Read again by its page when the list changes, so it never asks by itself. */
export const totalsQuery = (wallet: Address, by: 'status' | 'key' | 'agent', search: TotalsSearch) => {
    const { role = 'caller', agent_id, from, to } = search;
    return queryOptions({
        queryKey: ['execution-totals', wallet, by, role, agent_id ?? null, from ?? null, to ?? null] as const,
        queryFn: ({ signal }): Promise<Totals> => {
            const ofAgent = agent_id === undefined ? {} : { agent_id };
            const query = { role, by, ...ofAgent, ...periodOf(search, Date.now()) } as const;
            return readTotals(wallet, query, signal);
        },
        enabled: from === undefined || to === undefined || from < to,
    });
};

/** The figures of one status, or of all. */
export const figuresOf = ({ groups, total }: Totals, status: Status | undefined): TotalFigures =>
    status === undefined ? total : (groups.find((group) => group.status === status) ?? NOTHING);

/** Of those that ended. A disputed one was completed first. */
export function successOf({ completed, failed, disputed }: TotalFigures): string {
    const ended = completed + failed + disputed;
    return ended === 0 ? words.unknown : formatShare((completed + disputed) / ended);
}
