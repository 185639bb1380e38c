// `/agents/…`: everything that helps to decide whether to call an agent, and how.

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
import { CodeSamples } from './CodeSamples';
import { Facts } from './Facts';
import { History } from './History';
import { type Agent, agentQuery } from './query';
import { SchemaTable } from './SchemaTable';
import { Standing } from './Standing';

const route = getRouteApi('/agents/$agentId');

export function AgentPage() {
    const { agentId } = route.useParams();
    const { data: agent } = useSuspenseQuery(agentQuery(agentId));
    return (
        <Page title={visible(agent.name)} heading={<UserText text={agent.name} />}>
            <Introduction agent={agent} />
            <EmergencyStop agentId={agentId} />
            <div className={styles.columns}>
                <Facts agent={agent} />
                <div className={styles.main}>
                    <section aria-labelledby="about" className="stack">
                        <h2 id="about">What it does</h2>
                        <UserBlock text={agent.description} />
                    </section>
                    <SchemaTable
                        id="input"
                        title="What it takes"
                        schema={agent.input_schema}
                        none="A task in words; no parameters."
                    />
                    <SchemaTable
                        id="output"
                        title="What it returns"
                        schema={agent.output_schema}
                        none="Text without a promised structure."
                    />
                    <CodeSamples agent={agent} />
                    <History agentId={agentId} />
                </div>
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
            {agent.creator.verified && <Badge kind="good">Verified creator</Badge>}
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
