// A listing of the connected wallet, as the chain has it, for the pages that only its creator uses.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import { WalletGate } from '../wallet';
import { type Market, type OwnListing, marketQuery, ownListingQuery } from './market';
import { words } from './words';

export type OwnAgentData = {
    readonly network: Schemas['NetworkResponse'];
    readonly market: Market;
    readonly own: OwnListing;
    readonly wallet: Address;
};

export type OwnAgentProps = { agentId: string; why: string; children: (data: OwnAgentData) => ReactNode };

export const OwnAgent = ({ agentId, why, children }: OwnAgentProps) => (
    <WalletGate why={why}>
        {(wallet) => <Loaded key={wallet} agentId={agentId} wallet={wallet} show={children} />}
    </WalletGate>
);

function Loaded({ agentId, wallet, show }: { agentId: string; wallet: Address; show: OwnAgentProps['children'] }) {
    const network = useQuery(networkQuery);
    const market = useQuery(marketQuery(network.data));
    const own = useQuery(ownListingQuery(network.data, agentId));
    const failed = [network, market, own].find(({ error, data }) => error !== null && data === undefined);
    if (failed) return <Failure error={failed.error} onRetry={() => void failed.refetch()} />;
    if (network.data === undefined || market.data === undefined || own.data === undefined)
        return <Skeleton height="32rem" />;
    if (own.data === null) {
        return (
            <Notice kind="warn" title={words.ownAgent.none}>
                <p>{words.ownAgent.noneText}</p>
            </Notice>
        );
    }
    if (own.data.listing.creator !== wallet) {
        return (
            <Notice kind="warn" title={words.ownAgent.otherOwner}>
                <p>
                    {words.ownAgent.otherOwnerText}{' '}
                    <Link to="/agents/$agentId" params={{ agentId }}>
                        {words.ownAgent.look}
                    </Link>
                    .
                </p>
            </Notice>
        );
    }
    return show({ network: network.data, market: market.data, own: own.data, wallet });
}
