// One agent in the list. The whole card leads to its page.

import { Link } from '@tanstack/react-router';

import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './Browse.module.css';
import { Creator, recordOf } from './figures';
import type { ListedAgent } from './query';
import { words } from './words';

export function AgentCard({ agent }: { agent: ListedAgent }) {
    const { executions, success, time } = recordOf(agent);
    return (
        <li className={styles.card}>
            <div className={styles.cardHead}>
                <h2 className={styles.name}>
                    <Link to="/agents/$agentId" params={{ agentId: agent.agent_id }}>
                        <UserText text={agent.name} />
                    </Link>
                </h2>
                <p className={styles.price}>
                    <span className="number">{formatUsdc(agent.price_per_call_usdc)}</span> <small>{words.usdc}</small>
                </p>
            </div>
            <p className={styles.creator}>
                {words.by} <Creator creator={agent.creator} />
            </p>
            <p className={styles.tagline}>
                <UserText text={agent.tagline} />
            </p>
            <p className={styles.tags}>
                {agent.status === 'paused' && <Badge kind="warn">{words.paused}</Badge>}
                {agent.tags.map((tag) => (
                    <Badge key={tag}>
                        <UserText text={tag} />
                    </Badge>
                ))}
            </p>
            <dl className={styles.figures}>
                <div>
                    <dt>{words.columns.executions}</dt>
                    <dd>{executions}</dd>
                </div>
                <div>
                    <dt>{words.columns.success}</dt>
                    <dd>{success}</dd>
                </div>
                <div>
                    <dt>{words.columns.time}</dt>
                    <dd>{time}</dd>
                </div>
            </dl>
            <p className={styles.trust}>
                {words.trust} <span className="number">{formatUsdc(agent.trust_usdc)}</span> {words.usdc}
            </p>
        </li>
    );
}

export const AgentCardSkeleton = () => (
    <li className={styles.card} aria-hidden="true">
        <Skeleton height="1.5rem" width="60%" />
        <Skeleton height="1.4rem" width="50%" />
        <Skeleton height="3rem" />
        <Skeleton height="1.4rem" width="40%" />
        <Skeleton height="2.75rem" />
        <Skeleton height="1.4rem" width="40%" />
    </li>
);
