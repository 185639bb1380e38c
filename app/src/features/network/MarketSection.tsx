// The rules of the market and who keeps them, read from the chain where a node can be asked.

import { useQuery } from '@tanstack/react-query';

import { marketQuery } from '../../chain/market';
import type { Schemas } from '../../shared/api/client';
import { stoppedText } from '../../shared/pause';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import {
    AnnouncedParameters,
    AnnouncedRoles,
    type MarketFacts,
    Parameters,
    Roles,
    factsOfChain,
    factsOfService,
} from '../market';
import { Section } from './Section';

const UNREAD = 'The Solana node does not answer, so this is what the service says.';
const UNRENEWED = 'The Solana node does not answer any more, so this may be old.';

export function MarketSection({ network }: { network: Schemas['NetworkResponse'] }) {
    const { data: market, error, refetch } = useQuery(marketQuery(network.rpc_url));
    if (network.rpc_url !== null && market === undefined && !error) return <Skeleton height="50rem" />;
    const facts = market === undefined ? factsOfService(network, Math.floor(Date.now() / 1_000)) : factsOfChain(market);
    return (
        <>
            <Section title="Rules">
                <p className="muted">
                    {market === undefined ? 'As the service says it.' : 'Read by this page from the chain.'}
                </p>
                {error && (
                    <Failure
                        error={new Error(market === undefined ? UNREAD : UNRENEWED)}
                        onRetry={() => void refetch()}
                    />
                )}
                <State facts={facts} />
                <AnnouncedParameters facts={facts} />
                <Parameters parameters={facts.parameters} />
            </Section>
            <Section title="Roles">
                <AnnouncedRoles facts={facts} />
                <Roles facts={facts} />
            </Section>
        </>
    );
}

function State({ facts: { isOpeningsPaused, isListingsPaused } }: { facts: MarketFacts }) {
    const stopped = stoppedText(isOpeningsPaused, isListingsPaused);
    if (stopped === null) return <p>The market is open for new agents and new calls.</p>;
    return (
        <Notice kind="warn" title="The market is paused">
            <p>It takes {stopped}. Settlement, refund, dispute and withdrawal go on.</p>
        </Notice>
    );
}
