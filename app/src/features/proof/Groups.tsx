// The four groups of checks: each says whether it holds, and opens to show its checks.

import { CheckList } from '../execution';
import styles from './Proof.module.css';
import type { Group, Report } from './report';
import { words } from './words';

const MARKS = { passed: '✓', failed: '✗', unchecked: '–', none: '–' } as const;

export const Groups = ({ report: { groups } }: { report: Report }) => (
    <>
        <ul className={styles.groups}>
            {groups.map((group) => (
                <li key={group.name} className={styles[group.state]}>
                    <One group={group} />
                </li>
            ))}
        </ul>
        <p className="small muted">{words.aboutChecks}</p>
    </>
);

function One({ group: { name, state, checks } }: { group: Group }) {
    const failed = checks.filter(({ ok }) => !ok);
    return (
        <section className={styles.group} aria-labelledby={`group-${name}`}>
            <h2 id={`group-${name}`}>
                <span aria-hidden="true" className={styles.mark}>
                    {MARKS[state]}
                </span>
                {words.groups[name]} <span className={styles.state}>{words.states[state]}</span>
            </h2>
            <p className="small">{state === 'none' ? words.noResult : words.meaning[name]}</p>
            {checks.length > 0 && (
                // What failed is not folded.
                <details key={state} open={state === 'failed'}>
                    <summary>{words.checks(checks.length, failed.length)}</summary>
                    <CheckList
                        checks={checks}
                        unchecked={state === 'unchecked' ? failed.map((check) => check.name) : []}
                    />
                </details>
            )}
        </section>
    );
}
