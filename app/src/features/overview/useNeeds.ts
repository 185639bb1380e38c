// Reads what the list of needs is made of, each once: events and the owner make it be read again.

import type { Address } from '@solana/kit';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';

import { networkQuery } from '../../shared/api/queries';
import { ownListingsQuery } from '../creator';
import { fundsQuery, keysQuery } from '../keys';
import { unpublishedName } from '../listing';
import { type Need, needsOf } from './needs';
import { lastDayQuery, openDisputesQuery, ownWalletQuery } from './query';

/** The pages that these queries were made for ask more often. */
const ONCE = { refetchInterval: false } as const;

export type Needs = {
    readonly needs: readonly Need[];
    readonly isReading: boolean;
    /** Something could not be read. */
    readonly isPartial: boolean;
    readonly again: () => void;
};

export function useNeeds(wallet: Address): Needs {
    const now = new Date();
    const { data: network } = useQuery(networkQuery);
    const service = useQuery(ownWalletQuery(wallet));
    const disputes = useQuery(openDisputesQuery(wallet));
    const listings = useQuery({ ...ownListingsQuery(wallet, network?.rpc_url ?? null), ...ONCE });
    const keys = useInfiniteQuery({ ...keysQuery(wallet), ...ONCE });
    const funds = useQuery({ ...fundsQuery(wallet, network), ...ONCE });
    const lastDay = useQuery(lastDayQuery(wallet, now));
    const all = [service, disputes, listings, keys, funds, lastDay];
    return {
        needs: needsOf({
            wallet,
            nowS: now.getTime() / 1_000,
            resolver: network?.roles.resolver,
            disputes: disputes.data?.disputes,
            service: service.data,
            listings: listings.data,
            keys: keys.data?.pages.flatMap((page) => page.keys),
            funds: funds.data?.[0],
            lastDay: lastDay.data?.groups,
            draft: unpublishedName(wallet),
        }),
        isReading: all.some(({ isLoading }) => isLoading),
        isPartial: all.some(({ error, data }) => error !== null && data === undefined),
        again: () => void Promise.all(all.map(({ refetch }) => refetch())),
    };
}
