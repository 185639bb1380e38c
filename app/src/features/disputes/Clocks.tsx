// The times of a dispute, and what each means.

import type { ReactNode } from 'react';

import { Countdown } from '../../shared/ui/Countdown';
import { Time } from '../../shared/ui/Time';
import styles from './Disputes.module.css';
import { Due } from './Due';
import type { Dispute } from './query';
import { secondsOf, turnOf } from './state';
import { words } from './words';

const t = words.clocks;

export function Clocks({ dispute }: { dispute: Dispute }) {
    const { status, raised_at, answered_at, resolved_at, upholdable_from, respond_by, expires_at } = dispute;
    const now = Date.now() / 1_000;
    const isOpen = status === 'open';
    const turn = turnOf(dispute, now);
    const isLate = isOpen && now > secondsOf(respond_by);
    return (
        <section className={styles.card} aria-labelledby="clocks">
            <h2 id="clocks">{t.title}</h2>
            <ol className={styles.clocks}>
                <Clock name={t.raised} when={<Time iso={raised_at} />}>
                    {t.raisedHint}
                </Clock>
                {answered_at !== null ? (
                    <Clock name={t.answered} when={<Time iso={answered_at} />}>
                        {isOpen ? t.answeredOpen : t.answeredOver}
                    </Clock>
                ) : (
                    isOpen && (
                        <Clock
                            name={t.upholdable}
                            when={<Countdown to={upholdable_from} over={words.now} />}
                            isNow={turn === 'creator'}
                        >
                            {t.upholdableHint}
                        </Clock>
                    )
                )}
                {isOpen ? (
                    <>
                        <Clock
                            name={t.due}
                            when={<Due dispute={dispute} />}
                            isNow={turn === 'resolver' && !isLate}
                            isLate={isLate}
                        >
                            {t.dueHint}
                        </Clock>
                        <Clock
                            name={t.expires}
                            when={<Countdown to={expires_at} over={words.now} />}
                            isLate={turn === 'anybody'}
                        >
                            {t.expiresHint}
                        </Clock>
                    </>
                ) : (
                    resolved_at !== null && (
                        <Clock name={words.ends[status]} when={<Time iso={resolved_at} />} isNow>
                            {t.final}
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
