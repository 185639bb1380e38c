// What the overview reads. Events of the wallet make most of it be read again; without an event it asks once a minute.

import type { Address } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { type Schemas, api, asWallet, body } from '../../shared/api/client';
import { type Role, totalsQuery } from '../../shared/api/totals';
import { dayOf, dayText } from '../../shared/time/days';

/** A window of 90 days and the one before. */
export const KNOWN_DAYS = 180;
const LAST_CALLS = 5;
const OPEN_DISPUTES = 50;
const EVERY_MS = 60_000;

/** What the service knows about a wallet, with what only the wallet itself may see. */
export const ownWalletQuery = (wallet: Address) =>
    queryOptions({
        queryKey: ['wallet', wallet, 'own'] as const,
        queryFn: ({ signal }): Promise<Schemas['WalletResponse']> =>
            body(api.GET('/v1/wallets/{wallet}', { ...asWallet(wallet), params: { path: { wallet } }, signal })),
        // No event tells of a deadline that passes.
        refetchInterval: EVERY_MS,
    });

/** The newest calls that the wallet paid for. */
export const lastCallsQuery = (wallet: Address) =>
    queryOptions({
        queryKey: ['executions', wallet, 'last'] as const,
        queryFn: ({ signal }) =>
            body(api.GET('/v1/executions', { ...asWallet(wallet), params: { query: { limit: LAST_CALLS } }, signal })),
    });

/** Open disputes of the wallet in any of its parts. */
export const openDisputesQuery = (wallet: Address) =>
    queryOptions({
        queryKey: ['disputes', wallet, 'open'] as const,
        queryFn: ({ signal }) => {
            const query = { status: 'open', limit: OPEN_DISPUTES } as const;
            return body(api.GET('/v1/disputes', { ...asWallet(wallet), params: { query }, signal }));
        },
    });

/** Sums of each day. The query is the same all day, so it is kept. */
export const daysQuery = (wallet: Address, role: Role, now: Date) =>
    totalsQuery(wallet, { role, by: 'day', from: `${dayText(dayOf(now) - KNOWN_DAYS + 1)}T00:00:00Z` });

const MS_PER_DAY = 86_400_000;
const MS_PER_HOUR = 3_600_000;

/** Calls of the own agents in the last 24 hours, by agent; begins with a whole hour, so that it is kept. */
export const lastDayQuery = (wallet: Address, now: Date) => {
    const from = Math.floor((now.getTime() - MS_PER_DAY) / MS_PER_HOUR) * MS_PER_HOUR;
    return totalsQuery(wallet, { role: 'creator', by: 'agent', from: `${new Date(from).toISOString().slice(0, 19)}Z` });
};
