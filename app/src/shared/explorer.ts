// Where accounts and transactions are looked at: at the explorer that the service names, or for a local network, which
// no public explorer can see, on pages of this dashboard.

import { useQuery } from '@tanstack/react-query';

import type { Schemas } from './api/client';
import { networkQuery } from './api/queries';

export type Described = Pick<Schemas['NetworkResponse'], 'network' | 'explorer'> | undefined;

export const isLocal = (network: Described): boolean => network?.network === 'local';

/** `undefined`: not known yet. */
export function accountLink(network: Described, address: string): string | undefined {
    if (isLocal(network)) return `/explorer/account/${address}`;
    return network?.explorer.account.replace('{address}', address);
}

/** `undefined`: not known yet, or the explorer has no such pages. */
export function transactionLink(network: Described, signature: string): string | undefined {
    if (isLocal(network)) return `/explorer/tx/${signature}`;
    return network?.explorer.transaction?.replace('{signature}', signature);
}

/** The account that a link of the service to an explorer is about; `null`: none. */
export function addressIn(link: string): string | null {
    if (!URL.canParse(link)) return null;
    const parts = new URL(link).pathname.split('/').reverse();
    return parts.find((part) => /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(part)) ?? null;
}

/** The link of the service to an account, or the local page of the same account. */
export function accountLinkOf(network: Described, link: string): string {
    const address = isLocal(network) ? addressIn(link) : null;
    return address === null ? link : `/explorer/account/${address}`;
}

/** For cells of tables, which do not know the network. */
export const useNetwork = (): Schemas['NetworkResponse'] | undefined => useQuery(networkQuery).data;
