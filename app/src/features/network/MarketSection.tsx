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
import { words } from './words';

const w = words.market;

export function MarketSection({ network }: { network: Schemas['NetworkResponse'] }) {
    const { data: market, error, refetch } = useQuery(marketQuery(network.rpc_url));
    if (network.rpc_url !== null && market === undefined && !error) return <Skeleton height="50rem" />;
    const facts = market === undefined ? factsOfService(network, Math.floor(Date.now() / 1_000)) : factsOfChain(market);
    return (
        <>
            <Section title={w.rules}>
                <p className="muted">{market === undefined ? w.fromService : w.fromChain}</p>
                {error && (
                    <Failure
                        error={new Error(market === undefined ? w.unread : w.stale)}
                        onRetry={() => void refetch()}
                    />
                )}
                <State facts={facts} />
                <AnnouncedParameters facts={facts} />
                <Parameters parameters={facts.parameters} />
            </Section>
            <Section title={w.roles}>
                <AnnouncedRoles facts={facts} />
                <Roles facts={facts} />
            </Section>
        </>
    );
}

function State({ facts: { isOpeningsPaused, isListingsPaused } }: { facts: MarketFacts }) {
    const stopped = stoppedText(isOpeningsPaused, isListingsPaused);
    if (stopped === null) return <p>{w.open}</p>;
    return (
        <Notice kind="warn" title={w.paused}>
            <p>{w.pausedText(stopped)}</p>
        </Notice>
    );
}
