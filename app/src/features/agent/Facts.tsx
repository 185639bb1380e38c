// Record and promises of an agent, in a box.

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { contentPath } from '../../shared/content';
import { formatCount, formatMs, formatShare } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { TRUST } from '../../shared/trust';
import { short } from '../../shared/text/short';
import { Address } from '../../shared/ui/Address';
import { Time } from '../../shared/ui/Time';
import styles from './Agent.module.css';
import { type Agent, listingQuery } from './query';
import { words } from './words';

export const Facts = ({ agent }: { agent: Agent }) => (
    <section aria-labelledby="record" className={styles.facts}>
        <h2 id="record">{words.record}</h2>
        <dl className={styles.list}>
            <Fact name={words.trust}>
                <span className="number">{formatUsdc(agent.trust_usdc)} USDC</span>
            </Fact>
            <Record agent={agent} />
            <Promises agent={agent} />
            <Origin agent={agent} />
        </dl>
        <p className="small muted">{TRUST}</p>
    </section>
);

export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
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
            <Fact name={words.calls}>
                <span className="number">{formatCount(total_executions)}</span>
                {unique_callers > 0 && <span className="muted">{words.ofWallets(unique_callers)}</span>}
            </Fact>
            <Fact name={words.successful(window_days)}>
                <span className="number">{figure(success_rate, formatShare)}</span>
            </Fact>
            <Fact name={words.disputed(window_days)}>
                <span className="number">{figure(dispute_rate, formatShare)}</span>
            </Fact>
            {upheld > 0 && (
                <Fact name={words.upheld}>
                    <span className="number">{words.upheldOf(upheld)}</span>
                </Fact>
            )}
            {unproved > 0 && (
                <Fact name={words.unproved}>
                    <span className="number">{words.failures(unproved)}</span>
                    <span className="muted">{words.unprovedNote}</span>
                </Fact>
            )}
            <Fact name={words.median}>
                <span className="number">{figure(p50, formatMs)}</span>
            </Fact>
            <Fact name={words.p95}>
                <span className="number">{figure(p95, formatMs)}</span>
            </Fact>
        </>
    );
}

const Promises = ({ agent: { binding, metrics } }: { agent: Agent }) => (
    <>
        <Fact name={words.binding}>{binding ? words.bindingYes : words.bindingNo}</Fact>
        <Fact name={words.freeCollateral}>
            <span className="number">{formatUsdc(metrics.free_collateral_usdc)} USDC</span>
            <span className="muted"> {coverText(metrics.collateral_cover)}</span>
        </Fact>
        <Fact name={words.atRisk}>
            <span className="number">{formatUsdc(metrics.amount_at_risk_usdc)} USDC</span>
        </Fact>
    </>
);

/** What the next caller can be compensated with. */
function coverText(cover: number | null): string {
    if (cover === null) return '';
    if (cover >= 1) return words.coversNext;
    return words.coversPart(formatShare(cover));
}

function Origin({ agent }: { agent: Agent }) {
    const { data: listing } = useQuery(listingQuery(agent.agent_id));
    const document = listing?.document ?? null;
    return (
        <>
            <Fact name={words.listed}>
                <Time iso={agent.created_at} />
            </Fact>
            <Fact name={words.agent}>
                <Address value={agent.agent_id} what="agent address" href={agent.on_chain_listing} />
            </Fact>
            <Fact name={words.document}>
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
