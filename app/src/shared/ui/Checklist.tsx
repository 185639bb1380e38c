// Steps in their order, or checks that were made: each with its state as a mark, and in words for those who do not see
// the mark.

import type { ReactNode } from 'react';

import styles from './Checklist.module.css';

export type ItemState = 'done' | 'now' | 'later' | 'failed' | 'skipped';

const MARKS: Record<ItemState, string | null> = { done: '✓', now: null, later: null, failed: '✗', skipped: '–' };

export type ChecklistProps = {
    label?: string;
    /** Each item in a frame, for a report with details. */
    isFramed?: boolean;
    children: ReactNode;
};

export const Checklist = ({ label, isFramed = false, children }: ChecklistProps) => (
    <ol aria-label={label} className={`${styles.list} ${isFramed ? styles.framed : styles.plain}`}>
        {children}
    </ol>
);

export type ChecklistItemProps = {
    title: ReactNode;
    state: ItemState;
    /** The state in words; `isWordShown`: at the end of the line, and not for screen readers alone. */
    word?: string;
    isWordShown?: boolean;
    children?: ReactNode;
};

export const ChecklistItem = ({ title, state, word, isWordShown = false, children }: ChecklistItemProps) => (
    <li className={styles.item} data-state={state} aria-current={state === 'now' ? 'step' : undefined}>
        <h3>
            {/* Without a mark its number stands there. */}
            <span className={styles.mark} aria-hidden="true">
                {MARKS[state]}
            </span>
            <span>{title}</span>
            {word !== undefined && <span className={isWordShown ? styles.word : 'visually-hidden'}> {word}</span>}
        </h3>
        {children}
    </li>
);
