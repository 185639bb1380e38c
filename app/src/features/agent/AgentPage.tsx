// `/agents/…`: everything that helps to decide whether to call an agent, and how.

import { useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';

import { UserBlock, UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Badge } from '../../shared/ui/Badge';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import styles from './Agent.module.css';
import { CodeSamples } from './CodeSamples';
import { Facts } from './Facts';
import { History } from './History';
import { type Agent, agentQuery } from './query';
import { SchemaTable } from './SchemaTable';

const route = getRouteApi('/agents/$agentId');

export function AgentPage() {
    const { agentId } = route.useParams();
    const { data: agent } = useSuspenseQuery(agentQuery(agentId));
    return (
        <Page title={visible(agent.name)} heading={<UserText text={agent.name} />}>
            <Introduction agent={agent} />
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
        {agent.status === 'paused' && (
            <Notice kind="warn" title="Paused by its creator">
                <p>It takes no calls at present. Calls under way are finished or refunded.</p>
            </Notice>
        )}
    </>
);
