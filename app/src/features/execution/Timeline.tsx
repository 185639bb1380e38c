// The way of an execution: reserved, escrow, running, signed, settled or refunded, with times and links.

import type { ReactNode } from 'react';

import type { Schemas } from '../../shared/api/client';
import { transactionLink } from '../../shared/explorer';
import { formatUsdc } from '../../shared/money';
import { short } from '../../shared/text/short';
import type { StoredCall } from '../run';
import { type Execution, type OnChain, isUnderWay, isUnopened } from './query';
import { ExactTime } from '../../shared/ui/ExactTime';
import { words } from './words';
import styles from './Execution.module.css';

const w = words.timeline;

export type TimelineProps = {
    call: StoredCall | null;
    execution: Execution | null;
    onChain: OnChain | undefined;
    network: Schemas['NetworkResponse'] | undefined;
};

type StepState = 'done' | 'now' | 'later' | 'bad' | 'skipped';
type Step = { readonly name: string; readonly state: StepState; readonly detail: ReactNode };

const MARKS: Record<StepState, string> = { done: '✓', now: '●', later: '', bad: '!', skipped: '–' };

export function Timeline(props: TimelineProps) {
    const steps = stepsOf(props);
    const current =
        steps.find(({ state }) => state === 'now' || state === 'bad') ??
        steps.findLast(({ state }) => state === 'done');
    return (
        <section className={styles.course} aria-labelledby="timeline">
            <h2 id="timeline">{w.title}</h2>
            <p role="status" className="visually-hidden">
                {current && `${current.name}: ${w.states[current.state]}`}
            </p>
            <ol className={styles.timeline}>
                {steps.map(({ name, state, detail }) => (
                    <li key={name} className={styles[state]} aria-current={state === 'now' ? 'step' : undefined}>
                        <span className={styles.mark} aria-hidden="true">
                            {MARKS[state]}
                        </span>
                        <div>
                            <h3>
                                {name} <span className="visually-hidden">({w.states[state]})</span>
                            </h3>
                            <div className="small muted">{detail}</div>
                        </div>
                    </li>
                ))}
            </ol>
        </section>
    );
}

function stepsOf({ call, execution, onChain, network }: TimelineProps): Step[] {
    const { opening, ending } = onChain ?? { opening: null, ending: null };
    const isRefund = ending?.payees.kind === 'refunded' || (execution?.status === 'failed' && !execution.dispute);
    const isPaid = ending?.payees.kind === 'settled';
    const hasEnded = isRefund || isPaid || (execution !== null && !isUnderWay(execution));
    const isRunning = execution?.status === 'running' || call?.handedOver === true;
    const neverOpened = hasEnded && isUnopened(execution, onChain);
    const at = call?.createdAt ?? execution?.initiated_at;
    const reading = hasEnded ? w.reading : null;
    return [
        {
            name: w.reserved,
            state: at || opening ? 'done' : 'later',
            detail: at ? <ExactTime at={at} /> : w.hasId,
        },
        {
            name: w.escrow,
            state: opening || (hasEnded && !neverOpened) ? 'done' : neverOpened ? 'skipped' : 'now',
            detail: opening ? (
                <Sent of={opening.transaction} since={secondOf(at)} network={network} />
            ) : neverOpened ? (
                w.noMoney
            ) : (
                (reading ?? (call ? w.toEscrowOf(formatUsdc(BigInt(call.price))) : w.toEscrow))
            ),
        },
        {
            name: w.running,
            state: hasEnded ? (neverOpened ? 'skipped' : 'done') : opening ? 'now' : 'later',
            detail: runningDetail(execution, isRunning, hasEnded),
        },
        {
            name: w.signed,
            state: isPaid ? 'done' : isRefund ? 'skipped' : hasEnded ? 'done' : 'later',
            detail: isRefund ? w.noResult : hasEnded ? w.wasSigned : w.signs,
        },
        {
            name: isRefund ? w.refunded : w.settled,
            state: ending ? (isRefund ? 'bad' : 'done') : hasEnded ? (isRefund ? 'bad' : 'done') : 'later',
            detail: ending ? (
                <Sent of={ending.transaction} since={opening?.transaction.time ?? null} network={network} />
            ) : neverOpened ? (
                w.kept
            ) : (
                (reading ?? w.pays)
            ),
        },
    ];
}

function runningDetail(execution: Execution | null, isRunning: boolean, hasEnded: boolean): ReactNode {
    const ms = execution?.execution_time_ms;
    if (hasEnded) return ms === null || ms === undefined ? w.asked : w.took(duration(ms));
    return isRunning ? w.waiting : w.asks;
}

export const duration = (ms: number): string =>
    ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;

/** `null`: not known. */
const secondOf = (moment: string | undefined): number | null =>
    moment === undefined ? null : Math.floor(Date.parse(moment) / 1_000);

type SentProps = {
    of: { signature: string; time: number | null };
    /** When the step before was, in seconds since 1970. */
    since: number | null;
    network: TimelineProps['network'];
};

/** A transaction: when, how long after the step before, and where to look at it. */
const Sent = ({ of, since, network }: SentProps) => {
    const href = transactionLink(network, of.signature);
    return (
        <>
            {of.time !== null && <ExactTime at={of.time} />}
            {of.time !== null && since !== null && ` (${w.after(of.time - since)})`}
            {of.time !== null && ' · '}
            {href === undefined ? (
                <span className="mono">{short(of.signature, 6)}</span>
            ) : (
                <a href={href} target="_blank" rel="noreferrer" aria-label={w.transaction(short(of.signature, 6))}>
                    <span className="mono">{short(of.signature, 6)}</span>
                </a>
            )}
        </>
    );
};
