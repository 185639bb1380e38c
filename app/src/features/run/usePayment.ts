// What paying for a call depends on: the agent's terms and the wallet's money, as the chain has them now.

import { useQuery } from '@tanstack/react-query';

import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
import type { Connection } from '../../shared/wallet/store';
import { useWallet } from '../../shared/wallet/useWallet';
import { type CallTerms, type Funds, callTermsQuery, fundsQuery } from './call/terms';
import { type Obstacle, obstaclesOf } from './obstacles';

export type Payment = {
    readonly network: Schemas['NetworkResponse'] | undefined;
    readonly connection: Connection | null;
    readonly terms: CallTerms | undefined;
    readonly funds: Funds | undefined;
    /** Empty also while the chain has not answered. */
    readonly obstacles: readonly Obstacle[];
    readonly isReady: boolean;
    /** Why the chain could not be read. */
    readonly error: Error | null;
    readonly retry: () => void;
};

/** `shownTermsHash`: as the service shows the agent. */
export function usePayment(agentId: string, shownTermsHash: string): Payment {
    const { connection } = useWallet();
    const { data: network } = useQuery(networkQuery);
    const { data: terms, error, refetch } = useQuery(callTermsQuery(agentId, network));
    const { data: funds } = useQuery(fundsQuery(connection?.account.address, network?.rpc_url ?? null, terms?.mint));
    const obstacles = terms && network ? obstaclesOf({ network, terms, shownTermsHash, connection, funds }) : [];
    const isReady = terms !== undefined && funds !== undefined && obstacles.length === 0;
    return { network, connection, terms, funds, obstacles, isReady, error, retry: () => void refetch() };
}
