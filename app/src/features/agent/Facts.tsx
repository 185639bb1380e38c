// Price, promises and record of an agent, in a box.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { contentPath } from '../../shared/content';
import { promiseText } from '../../shared/cover';
import { formatCount, formatMs, formatShare, plural } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { TRUST } from '../../shared/trust';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import { Address } from '../../shared/ui/Address';
import { buttonClass } from '../../shared/ui/Button';
import { Time } from '../../shared/ui/Time';
import styles from './Agent.module.css';
import { type Agent, listingQuery } from './query';

export const Facts = ({ agent }: { agent: Agent }) => (
    <aside aria-label="Price and record" className={styles.facts}>
        <p className={styles.price}>
            <strong className="number">{formatUsdc(agent.price_per_call_usdc)}</strong> USDC per call
        </p>
        <p className="small muted">
            Held in escrow on chain, and paid only for a signed result. Otherwise it comes back.
        </p>
        {agent.status === 'active' && (
            <Link to="/agents/$agentId/run" params={{ agentId: agent.agent_id }} className={buttonClass('primary')}>
                Run this agent
            </Link>
        )}
        <dl className={styles.list}>
            <Fact name="Trust">
                <span className="number">{formatUsdc(agent.trust_usdc)} USDC</span>
            </Fact>
            <Record agent={agent} />
            <Promises agent={agent} />
            <Origin agent={agent} />
        </dl>
        <p className="small muted">{TRUST}</p>
    </aside>
);

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
    <div className={styles.fact}>
        <dt>{name}</dt>
        <dd>{children}</dd>
    </div>
);

/** Shares and times of the last 30 days; `–` where nothing was counted yet. */
function Record({ agent }: { agent: Agent }) {
    const { metrics, total_executions, unique_callers, unproved_failures: unproved } = agent;
    const { window_days, success_rate, dispute_rate, p50_execution_time_ms: p50, p95_execution_time_ms: p95 } = metrics;
    const upheld = metrics.wallets_with_upheld_disputes;
    const figure = (value: number | null, format: (value: number) => string): string =>
        value === null ? '–' : format(value);
    return (
        <>
            <Fact name="Executions">
                <span className="number">{formatCount(total_executions)}</span>
                {unique_callers > 0 && <span className="muted"> of {plural(unique_callers, 'wallet')}</span>}
            </Fact>
            <Fact name={`Successful, ${window_days} days`}>
                <span className="number">{figure(success_rate, formatShare)}</span>
            </Fact>
            <Fact name={`Disputed, ${window_days} days`}>
                <span className="number">{figure(dispute_rate, formatShare)}</span>
            </Fact>
            {upheld > 0 && (
                <Fact name="Disputes upheld">
                    <span className="number">of {plural(upheld, 'wallet')}</span>
                </Fact>
            )}
            {unproved > 0 && (
                <Fact name="Reported by the gateway alone">
                    <span className="number">{plural(unproved, 'failure')}</span>
                    <span className="muted">, not proved, not counted</span>
                </Fact>
            )}
            <Fact name="Median time">
                <span className="number">{figure(p50, formatMs)}</span>
            </Fact>
            <Fact name="95th percentile">
                <span className="number">{figure(p95, formatMs)}</span>
            </Fact>
        </>
    );
}

const Promises = ({ agent: { timeout_seconds, binding, min_cover, metrics } }: { agent: Agent }) => (
    <>
        <Fact name="Answers within">
            <span className="number">{formatMs(timeout_seconds * 1_000)}</span>
        </Fact>
        <Fact name="Signs each call">{binding ? 'Yes' : 'Only the result'}</Fact>
        <Fact name="Promised cover">{promiseText(min_cover)}</Fact>
        <Fact name="Free collateral">
            <span className="number">{formatUsdc(metrics.free_collateral_usdc)} USDC</span>
            <span className="muted"> {coverText(metrics.collateral_cover)}</span>
        </Fact>
        <Fact name="At risk now">
            <span className="number">{formatUsdc(metrics.amount_at_risk_usdc)} USDC</span>
        </Fact>
    </>
);

/** What the next caller can be compensated with. */
function coverText(cover: number | null): string {
    if (cover === null) return '';
    if (cover >= 1) return 'covers the next call';
    return `covers ${formatShare(cover)} of the next call`;
}

function Origin({ agent }: { agent: Agent }) {
    const { data: listing } = useQuery(listingQuery(agent.agent_id));
    const document = listing?.document ?? null;
    const { pubkey, display_name } = agent.creator;
    return (
        <>
            <Fact name="Creator">
                <Link to="/" search={{ creator: pubkey }} title={pubkey}>
                    {display_name === '' ? (
                        <span className="mono">{short(pubkey)}</span>
                    ) : (
                        <UserText text={display_name} />
                    )}
                </Link>
            </Fact>
            <Fact name="Listed">
                <Time iso={agent.created_at} />
            </Fact>
            <Fact name="Agent">
                <Address value={agent.agent_id} what="agent address" href={agent.on_chain_listing} />
            </Fact>
            <Fact name="Document">
                {document === null ? (
                    '\u00a0'
                ) : (
                    <a href={contentPath(document.sha256)} target="_blank" rel="noreferrer" className="mono">
                        {short(document.sha256.replace('sha256:', ''), 4)}
                    </a>
                )}
            </Fact>
        </>
    );
}
