// What a visitor without a wallet sees first: what this is, how a call works, what it costs, and two ways on.

import { Link } from '@tanstack/react-router';

import { formatUsdc } from '../../../shared/money';
import { UserText } from '../../../shared/text/UserText';
import { buttonClass } from '../../../shared/ui/Button';
import { Skeleton } from '../../../shared/ui/Skeleton';
import type { ListedAgent } from '../query';
import { words } from '../words';
import './claim.css';
import styles from './Home.module.css';
import { MarketFigures } from './MarketFigures';
import { Steps } from './Steps';

const { home } = words;

export type HomeProps = {
    /** The first ones of the list; `undefined` while they load. */ agents: readonly ListedAgent[] | undefined;
};

export function Home({ agents }: HomeProps) {
    const example = agents?.find(({ status }) => status === 'active');
    return (
        <section className={styles.home}>
            <div className={styles.offer}>
                <h1 className="claim">
                    {home.claim} <span>{home.promise}</span>
                </h1>
                <div className={styles.actions}>
                    {example === undefined ? (
                        <a href="#agents" className={buttonClass('primary')}>
                            {home.run}
                        </a>
                    ) : (
                        <Link
                            to="/agents/$agentId"
                            params={{ agentId: example.agent_id }}
                            className={buttonClass('primary')}
                        >
                            {home.run}
                        </Link>
                    )}
                    <Link to="/creator/new" className={buttonClass()}>
                        {home.list}
                    </Link>
                </div>
                {example !== undefined && <Example agent={example} />}
                {agents === undefined && (
                    <p className={styles.example}>
                        <Skeleton height="1.5rem" width="18rem" />
                    </p>
                )}
                <MarketFigures />
            </div>
            <Steps />
        </section>
    );
}

/** The agent that the first action leads to, with its price. */
const Example = ({ agent }: { agent: ListedAgent }) => (
    <p className={styles.example}>
        <span className="muted">{home.example}</span>{' '}
        <span className={styles.exampleName}>
            <UserText text={agent.name} />
        </span>{' '}
        <span className="money">
            {formatUsdc(agent.price_per_call_usdc)} {home.perCall}
        </span>
    </p>
);
