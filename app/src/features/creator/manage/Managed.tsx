// An agent of the connected wallet: how it does, and in tabs what its creator can change.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';

import { StoredAgentStatus } from '../../../chain/stored';
import type { Schemas } from '../../../shared/api/client';
import { agentQuery } from '../../agent';
import { BadgeCode } from '../../proof';
import { LazyAgentWebhooks } from '../../webhooks';
import { walletQuery } from '../query';
import { Calls } from './calls/Calls';
import { CollateralPanel } from './CollateralPanel';
import { Health } from './health/Health';
import { KeyPanel } from './KeyPanel';
import { LeavePanel } from './LeavePanel';
import { ManageTabs } from './ManageTabs';
import { OwnFacts } from './OwnFacts';
import { SignedIn } from './SignedIn';
import { StatusPanel } from './StatusPanel';
import { type Tab, shownTab, tabsOf } from './tabs';
import type { Managing, Owned } from './useManaging';
import { Visibility } from './Visibility';

const route = getRouteApi('/creator/agents/$agentId');

export type ManagedProps = {
    agentId: Address;
    wallet: Address;
    chain: Owned;
    network: Schemas['NetworkResponse'];
    managing: Managing;
};

export function Managed({ agentId, wallet, chain, network, managing }: ManagedProps) {
    const { tab } = route.useSearch();
    const isDelisted = chain.listing.status === StoredAgentStatus.Delisted;
    const { data: agent } = useQuery({ ...agentQuery(agentId), enabled: !isDelisted });
    const { data: service } = useQuery(walletQuery(wallet));
    const metrics = isDelisted ? undefined : agent?.metrics;
    const own = service?.agents.find(({ agent_id }) => agent_id === agentId);
    const panels = {
        listing: (
            <>
                <OwnFacts
                    agentId={agentId}
                    chain={chain}
                    metrics={metrics}
                    earned={own?.earned_usdc ?? null}
                    network={network}
                />
                {!isDelisted && agent !== undefined && <BadgeCode agentId={agentId} name={agent.name} />}
            </>
        ),
        calls: <SignedIn>{() => <Calls wallet={wallet} agentId={agentId} />}</SignedIn>,
        collateral: (
            <CollateralPanel
                chain={chain}
                managing={managing}
                metrics={metrics}
                maxPrice={network.limits.max_price_usdc}
            />
        ),
        key: <KeyPanel agentId={agentId} chain={chain} managing={managing} />,
        webhooks: <SignedIn>{() => <LazyAgentWebhooks account={wallet} agentId={agentId} />}</SignedIn>,
        leave: <LeavePanel agentId={agentId} chain={chain} managing={managing} />,
    } satisfies Record<Tab, React.ReactNode>;
    return (
        <>
            {!isDelisted && <Visibility agentId={agentId} />}
            <Health
                agentId={agentId}
                state={<StatusPanel chain={chain} managing={managing} isMarketPaused={network.openings_paused} />}
            />
            <ManageTabs tabs={tabsOf(isDelisted)} shown={shownTab(tab, isDelisted)} panels={panels} />
        </>
    );
}
