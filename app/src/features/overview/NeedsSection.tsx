// The list of what needs the owner of the wallet.

import type { Address } from '@solana/kit';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Button, buttonClass } from '../../shared/ui/Button';
import { Countdown } from '../../shared/ui/Countdown';
import type { Need } from './needs';
import styles from './Overview.module.css';
import { useNeeds } from './useNeeds';
import { words } from './words';

const SHOWN = 8;
const { needs: text } = words;

export function NeedsSection({ account }: { account: Address }) {
    const { needs, isReading, isPartial, again } = useNeeds(account);
    const [all, setAll] = useState(false);
    const shown = all ? needs : needs.slice(0, SHOWN);
    return (
        <section className="stack" aria-labelledby="needs">
            <h2 id="needs">{text.title}</h2>
            {needs.length > 0 && (
                <ul className={styles.needs}>
                    {shown.map((need) => (
                        <Line key={need.id} need={need} />
                    ))}
                </ul>
            )}
            {shown.length < needs.length && (
                <p>
                    <Button onPress={() => setAll(true)}>{text.more(needs.length - shown.length)}</Button>
                </p>
            )}
            {needs.length === 0 && (
                <p className="muted" role="status">
                    {isReading ? text.reading : !isPartial && text.none}
                </p>
            )}
            {isPartial && (
                <p className="row muted">
                    {text.partly} <Button onPress={again}>{text.again}</Button>
                </p>
            )}
        </section>
    );
}

const Line = ({ need: { kind, subject, text: sentence, until, to, action } }: { need: Need }) => (
    <li className={styles[kind]}>
        <span className={styles.what}>
            {subject !== null && (
                <strong>
                    <UserText text={subject} />
                </strong>
            )}
            <span>
                {sentence}
                {until !== undefined && (
                    <>
                        {' '}
                        <Countdown to={until} over={text.over} />
                    </>
                )}
            </span>
        </span>
        <Link
            to={to}
            className={buttonClass()}
            aria-label={subject === null ? action : `${action}: ${visible(subject.slice(0, 100))}`}
        >
            {action}
        </Link>
    </li>
);
