// Who offers an agent, and what became of the agents that the creator has closed.

import { Link } from '@tanstack/react-router';

import { UserText } from '../../shared/text/UserText';
import { Address } from '../../shared/ui/Address';
import { Badge } from '../../shared/ui/Badge';
import styles from './Agent.module.css';
import { Fact } from './Facts';
import type { Agent } from './query';
import { words } from './words';

export function Creator({ creator }: { creator: Agent['creator'] }) {
    const { pubkey, display_name: name, verified, closed_agents: closed } = creator;
    return (
        <section aria-labelledby="creator" className={styles.facts}>
            <h2 id="creator">{words.creator}</h2>
            <p className="row">
                {name !== '' && (
                    <strong>
                        <UserText text={name} />
                    </strong>
                )}
                {verified && <Badge kind="good">{words.verified}</Badge>}
            </p>
            <p className="row">
                <Address value={pubkey} what="creator address" />
            </p>
            {closed.agents > 0 && (
                <dl className={styles.list}>
                    <Fact name={`${words.closedAgents}: ${closed.agents}`}>
                        <span className="number">
                            {words.closedRecord(closed.successful_executions, closed.failed_executions)}
                        </span>
                        {closed.dispute_count > 0 && (
                            <span className="muted"> {words.closedDisputes(closed.dispute_count)}</span>
                        )}
                    </Fact>
                </dl>
            )}
            <p>
                <Link to="/creators/$wallet" params={{ wallet: pubkey }}>
                    {words.aboutCreator}
                </Link>
            </p>
        </section>
    );
}
