// The times of a dispute, and what each means.

import type { ReactNode } from 'react';

import { Countdown } from '../../shared/ui/Countdown';
import { Time } from '../../shared/ui/Time';
import styles from './Disputes.module.css';
import { Due } from './Due';
import type { Dispute } from './query';
import { endWord, secondsOf, turnOf } from './words';

export function Clocks({ dispute }: { dispute: Dispute }) {
    const { status, raised_at, answered_at, resolved_at, upholdable_from, respond_by, expires_at } = dispute;
    const now = Date.now() / 1_000;
    const isOpen = status === 'open';
    const turn = turnOf(dispute, now);
    const isLate = isOpen && now > secondsOf(respond_by);
    return (
        <section className={styles.card} aria-labelledby="clocks">
            <h2 id="clocks">Times</h2>
            <ol className={styles.clocks}>
                <Clock name="Raised" when={<Time iso={raised_at} />}>
                    The agent&rsquo;s collateral stays locked while a dispute is open.
                </Clock>
                {answered_at !== null ? (
                    <Clock name="Answered" when={<Time iso={answered_at} />}>
                        {isOpen
                            ? 'The resolver can uphold or reject it.'
                            : 'There is one answer, and it cannot be changed.'}
                    </Clock>
                ) : (
                    isOpen && (
                        <Clock
                            name="Can be upheld"
                            when={<Countdown to={upholdable_from} over="now" />}
                            isNow={turn === 'creator'}
                        >
                            As soon as the creator answers, or after 24 hours. It can be rejected at any time.
                        </Clock>
                    )
                )}
                {isOpen ? (
                    <>
                        <Clock
                            name="Decision due"
                            when={<Due dispute={dispute} />}
                            isNow={turn === 'resolver' && !isLate}
                            isLate={isLate}
                        >
                            The resolver means to decide within 72 hours. It is a target: nothing ends when it passes.
                        </Clock>
                        <Clock
                            name="Ends undecided"
                            when={<Countdown to={expires_at} over="now" />}
                            isLate={turn === 'anybody'}
                        >
                            After 30 days anybody can end it. Then the creator keeps the price, and the caller gets the
                            bond back; without a resolver also what the collateral covers.
                        </Clock>
                    </>
                ) : (
                    resolved_at !== null && (
                        <Clock name={endWord(status)} when={<Time iso={resolved_at} />} isNow>
                            This is final.
                        </Clock>
                    )
                )}
            </ol>
        </section>
    );
}

type ClockProps = { name: string; when: ReactNode; children: ReactNode; isNow?: boolean; isLate?: boolean };

const Clock = ({ name, when, children, isNow = false, isLate = false }: ClockProps) => (
    <li className={isLate ? styles.late : isNow ? styles.now : undefined}>
        <div className={styles.moment}>
            <h3>{name}</h3>
            <span>{when}</span>
        </div>
        <p className="small muted">{children}</p>
    </li>
);
