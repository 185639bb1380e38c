// The difference that an edit makes, field by field, old and new.

import { UserBlock } from '../../shared/text/UserText';
import type { Difference } from './change';
import { LABELS } from './form/fields';
import { type Line, lineDiff } from './lineDiff';
import styles from './Listing.module.css';
import { words } from './words';

const SIGNS = { same: '', removed: '\u2212', added: '+', 'left out': '' } as const;
const WORDS = {
    same: '',
    removed: words.differenceList.before,
    added: words.differenceList.after,
    'left out': '',
} as const;
const CLASSES = { same: '', removed: styles.removed, added: styles.added, 'left out': 'muted' } as const;

export const DifferenceList = ({ differences }: { differences: readonly Difference[] }) => (
    <dl className={styles.differences}>
        {differences.map(({ name, before, after }) => (
            <div key={name}>
                <dt>
                    <strong>{LABELS[name]}</strong>
                </dt>
                <dd>
                    {/* It scrolls, so the keyboard must reach it. */}
                    <div
                        className={styles.lines}
                        tabIndex={0}
                        role="group"
                        aria-label={words.differenceList.label(LABELS[name].toLowerCase())}
                    >
                        {lineDiff(before, after).map((line, at) => (
                            <ShownLine
                                key={at}
                                line={line}
                                isCode={name === 'inputSchema' || name === 'outputSchema'}
                            />
                        ))}
                    </div>
                </dd>
            </div>
        ))}
    </dl>
);

const ShownLine = ({ line: { kind, text }, isCode }: { line: Line; isCode: boolean }) => (
    <div className={`${styles.line} ${CLASSES[kind]} ${isCode ? 'mono' : ''}`}>
        <span aria-hidden="true">{SIGNS[kind]}</span>
        <div>
            <span className="visually-hidden">{WORDS[kind]}</span>
            {text === '' ? (
                <span className="muted">{kind === 'same' ? '' : '(empty)'}</span>
            ) : (
                <UserBlock text={text} />
            )}
        </div>
    </div>
);
