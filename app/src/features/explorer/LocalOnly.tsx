// Gives the node of a local network to its pages. Other networks have a public explorer.

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
import { isLocal } from '../../shared/explorer';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import { words } from './words';

export type LocalOnlyProps = {
    /** The same thing at the public explorer. */
    href: (network: Schemas['NetworkResponse']) => string | undefined;
    children: (rpcUrl: string, usdcMint: string) => ReactNode;
};

export function LocalOnly({ href, children }: LocalOnlyProps) {
    const { data: network, error, refetch } = useQuery(networkQuery);
    if (error !== null && network === undefined) return <Failure error={error} onRetry={() => void refetch()} />;
    if (network === undefined) return <Skeleton height="16rem" />;
    if (isLocal(network) && network.rpc_url !== null) return children(network.rpc_url, network.usdc_mint);
    const link = isLocal(network) ? undefined : href(network);
    return (
        <Notice title={words.notLocal}>
            <p>{isLocal(network) ? words.noNode : words.notLocalText}</p>
            {link !== undefined && (
                <p>
                    <a href={link} target="_blank" rel="noreferrer">
                        {words.openExplorer}
                    </a>
                </p>
            )}
        </Notice>
    );
}
