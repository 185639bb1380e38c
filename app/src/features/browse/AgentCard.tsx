// One agent in the list. The whole card leads to its page.

import { Link } from '@tanstack/react-router';

import { formatMs, formatShare, plural } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './Browse.module.css';
import type { ListedAgent } from './query';

export const AgentCard = ({ agent }: { agent: ListedAgent }) => (
    <li className={styles.card}>
        <div className={styles.cardHead}>
            <h2 className={styles.name}>
                <Link to="/agents/$agentId" params={{ agentId: agent.agent_id }}>
                    <UserText text={agent.name} />
                </Link>
            </h2>
            <p className={styles.price}>
                <span className="number">{formatUsdc(agent.price_per_call_usdc)}</span> <small>USDC</small>
            </p>
        </div>
        <p className={styles.tagline}>
            <UserText text={agent.tagline} />
        </p>
        <p className={styles.tags}>
            {agent.creator.verified && <Badge kind="good">Verified</Badge>}
            {agent.status === 'paused' && <Badge kind="warn">Paused</Badge>}
            {agent.tags.map((tag) => (
                <Badge key={tag}>
                    <UserText text={tag} />
                </Badge>
            ))}
        </p>
        <p className={`${styles.record} small muted number`}>{recordOf(agent)}</p>
    </li>
);

/** What the agent has done so far, in one line. */
function recordOf({ total_executions, success_rate, avg_execution_time_ms }: ListedAgent): string {
    if (total_executions === 0) return 'No executions yet';
    const time = avg_execution_time_ms === 0 ? [] : [`${formatMs(avg_execution_time_ms)} on average`];
    return [plural(total_executions, 'execution'), `${formatShare(success_rate)} successful`, ...time].join(' · ');
}

export const AgentCardSkeleton = () => (
    <li className={styles.card} aria-hidden="true">
        <Skeleton height="1.5rem" width="60%" />
        <Skeleton height="3rem" />
        <Skeleton height="1.4rem" width="40%" />
        <Skeleton height="1.2rem" width="70%" />
    </li>
);
