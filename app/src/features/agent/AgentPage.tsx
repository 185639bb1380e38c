// `/agents/…`: what an agent costs and does, a form to run it, the same call as code, and its record.

import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Suspense } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { mayStop } from '../../shared/roles';
import { UserBlock, UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Badge } from '../../shared/ui/Badge';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { useWallet } from '../../shared/wallet/useWallet';
import { LazySuspendAgent } from '../admin';
import styles from './Agent.module.css';
import { Creator } from './Creator';
import { ExampleResult } from './ExampleResult';
import { Facts } from './Facts';
import { History } from './History';
import { Interface } from './Interface';
import { Playground } from './Playground';
import { type Agent, agentQuery } from './query';
import { Standing } from './Standing';
import { SuccessStrip } from './SuccessStrip';
import { words } from './words';
import { SELDOM_MS } from '../../shared/seldom';

const route = getRouteApi('/agents/$agentId');

export function AgentPage() {
    const { agentId } = route.useParams();
    const { data: agent } = useSuspenseQuery({ ...agentQuery(agentId), refetchInterval: SELDOM_MS });
    return (
        <Page title={visible(agent.name)} heading={<UserText text={agent.name} />}>
            <Introduction agent={agent} />
            <EmergencyStop agentId={agentId} />
            {/* Another agent has another form. */}
            <Playground key={agentId} agent={agent} />
            <div className={styles.columns}>
                <div className={styles.main}>
                    <section aria-labelledby="about" className="stack">
                        <h2 id="about">{words.about}</h2>
                        <UserBlock text={agent.description} />
                    </section>
                    <ExampleResult schema={agent.output_schema} />
                    <Interface agent={agent} />
                    <History agentId={agentId} />
                </div>
                <aside aria-label={words.facts} className={styles.side}>
                    <SuccessStrip agentId={agentId} />
                    <Creator creator={agent.creator} />
                    <Facts agent={agent} />
                </aside>
            </div>
        </Page>
    );
}

const Introduction = ({ agent }: { agent: Agent }) => (
    <>
        <p className={styles.tagline}>
            <UserText text={agent.tagline} />
        </p>
        <p className="row">
            {agent.creator.verified && <Badge kind="good">{words.verified}</Badge>}
            {agent.tags.map((tag) => (
                <Badge key={tag}>
                    <UserText text={tag} />
                </Badge>
            ))}
        </p>
        <Standing agent={agent} />
    </>
);

/** Only for those who may use it. The chain refuses it to everybody else. */
function EmergencyStop({ agentId }: { agentId: string }) {
    const { data: network } = useQuery(networkQuery);
    const { connection } = useWallet();
    const wallet = connection?.account.address;
    if (wallet === undefined || network === undefined || !mayStop(wallet, network.roles)) return null;
    return (
        <Suspense fallback={<Skeleton height="12rem" />}>
            <LazySuspendAgent agentId={agentId} mayResume={wallet === network.roles.admin} />
        </Suspense>
    );
}
