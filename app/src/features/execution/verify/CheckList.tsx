// Checks one by one: what each expected, and what it found.

import { UserText } from '../../../shared/text/UserText';
import { words } from '../words';
import type { Check } from './checks';
import styles from './Verify.module.css';

/** `unchecked`: names of checks that had nothing to look at. `level`: of their headings. */
export type CheckListProps = { checks: readonly Check[]; unchecked?: readonly string[] };

export const CheckList = ({ checks, unchecked = [] }: CheckListProps) => (
    <ol className={styles.checks}>
        {checks.map(({ name, title, ok, expected, found }) => {
            const state = ok ? 'passed' : unchecked.includes(name) ? 'unchecked' : 'failed';
            return (
                <li key={name} className={styles[state]}>
                    <h3>
                        <span aria-hidden="true">{MARKS[state]}</span> {title}{' '}
                        <span className={styles.word}>{words.verify.states[state]}</span>
                    </h3>
                    <dl>
                        <dt>{words.verify.expected}</dt>
                        <dd>
                            <UserText text={expected} />
                        </dd>
                        <dt>{words.verify.found}</dt>
                        <dd>
                            <UserText text={found} />
                        </dd>
                    </dl>
                </li>
            );
        })}
    </ol>
);

const MARKS = { passed: '✓', failed: '✗', unchecked: '–' } as const;
