// `/creators/…`: who a creator is, the record over all agents, and the agents. For anybody, without a wallet.

import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';

import { UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Address } from '../../shared/ui/Address';
import { Badge } from '../../shared/ui/Badge';
import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { SectionBoundary } from '../../shared/ui/SectionBoundary';
import { Skeleton } from '../../shared/ui/Skeleton';
import { agentQuery } from '../agent';
import { type Wallet, walletQuery } from '../creator';
import { AgentsSection } from './AgentsSection';
import { agentsOfQuery } from './query';
import { RecordSection } from './RecordSection';
import { words } from './words';

const route = getRouteApi('/creators/$wallet');

export function PublicCreatorPage() {
    const { wallet } = route.useParams();
    const { data, error, refetch } = useQuery(walletQuery(wallet));
    const name = data?.creator?.display_name ?? '';
    return (
        <Page
            title={name === '' ? words.title : visible(name)}
            heading={name === '' ? words.title : <UserText text={name} />}
        >
            <p className="row">
                <Address value={wallet} what={words.address} ends={8} />
                {data?.creator?.verified === true && <Badge kind="good">{words.verified}</Badge>}
            </p>
            {data !== undefined ? (
                <Known key={wallet} wallet={data} />
            ) : error === null ? (
                <Skeleton height="20rem" />
            ) : (
                <Failure error={error} onRetry={() => void refetch()} />
            )}
        </Page>
    );
}

function Known({ wallet }: { wallet: Wallet }) {
    const { creator, agents_total: count } = wallet;
    if (creator === null && count === 0) {
        return (
            <Empty title={words.none}>
                <p>{words.noneText}</p>
            </Empty>
        );
    }
    return (
        <>
            <Standing wallet={wallet} />
            <SectionBoundary name={words.section.record}>
                <RecordSection wallet={wallet} />
            </SectionBoundary>
            <SectionBoundary name={words.section.agents}>
                <AgentsSection wallet={wallet} />
            </SectionBoundary>
        </>
    );
}

/** Whether the name can be relied on. That it misleads is said with each agent, so one of them is asked. */
function Standing({ wallet: { wallet, creator } }: { wallet: Wallet }) {
    const list = useInfiniteQuery(agentsOfQuery(wallet));
    const agentId = list.data?.pages[0]?.agents[0]?.agent_id;
    const { data: agent } = useQuery({ ...agentQuery(agentId ?? ''), enabled: agentId !== undefined });
    if (agent?.creator.resembles_verified === true) {
        return (
            <Notice kind="warn" title={words.resembles}>
                <p>{words.resemblesText}</p>
            </Notice>
        );
    }
    return <p className="muted">{creator?.verified === true ? words.verifiedText : words.notVerified}</p>;
}
