// The field of the search and what it found. The focus stays in the field while the arrow keys go through the list. Plain
// elements: the library's menu builds each entry twice, and a slow device answers no key meanwhile.

import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';

import { UserText } from '../../shared/text/UserText';
import { words } from '../words';
import type { Entry, Section } from './entries';
import styles from './Find.module.css';

const { find } = words;

export type ResultsProps = {
    text: string;
    onText: (text: string) => void;
    sections: readonly Section[];
    isAsking: boolean;
    failed: boolean;
    onChoose: (entry: Entry) => void;
};

export function Results({ text, onText, sections, isAsking, failed, onChoose }: ResultsProps) {
    const menu = useId();
    const entries = sections.flatMap((section) => section.entries);
    const count = entries.length;
    const { active, setActive, step } = useActive(entries, text);
    const idOf = (entry: Entry): string => `${menu}-${entries.indexOf(entry)}`;
    const remark = failed ? find.failed : isAsking ? find.asking : find.nothing;
    const press = (event: KeyboardEvent): void => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === 'ArrowDown') step(1);
        else if (event.key === 'ArrowUp') step(-1);
        else if (event.key === 'Enter' && active !== undefined) onChoose(active);
        else return;
        event.preventDefault();
    };
    return (
        <>
            <div className={styles.field}>
                <input
                    type="search"
                    className={styles.input}
                    aria-label={find.name}
                    aria-controls={menu}
                    aria-autocomplete="list"
                    aria-activedescendant={active && idOf(active)}
                    placeholder={find.placeholder}
                    autoComplete="off"
                    spellCheck={false}
                    maxLength={200}
                    value={text}
                    onChange={(event) => onText(event.target.value)}
                    onKeyDown={press}
                />
            </div>
            <p role="status" className={count === 0 || failed ? styles.remark : 'visually-hidden'}>
                {count === 0 || failed ? remark : find.found(count)}
            </p>
            <div id={menu} role="menu" aria-label={find.results} className={styles.menu}>
                {sections.map((section) => (
                    <div key={section.id} role="group" aria-label={find.sections[section.id]}>
                        <div aria-hidden="true" className={styles.title}>
                            {find.sections[section.id]}
                        </div>
                        {section.entries.map((entry) => (
                            <Item
                                key={entry.id}
                                id={idOf(entry)}
                                entry={entry}
                                isActive={entry === active}
                                onPoint={() => setActive(entry)}
                                onChoose={() => onChoose(entry)}
                            />
                        ))}
                    </div>
                ))}
            </div>
        </>
    );
}

/** The entry that Enter chooses: the first one of what was typed, until an arrow key or the pointer goes to another. */
function useActive(entries: readonly Entry[], text: string) {
    const [chosen, setChosen] = useState({ id: '', text: '' });
    const kept = chosen.text === text ? entries.find(({ id }) => id === chosen.id) : undefined;
    const active = kept ?? (text.trim() === '' ? undefined : entries[0]);
    // It stays the same one when agents arrive in front of it.
    if (active !== undefined && active !== kept) setChosen({ id: active.id, text });
    const setActive = ({ id }: Entry): void => setChosen({ id, text });
    const step = (by: 1 | -1): void => {
        const at = active === undefined ? (by === 1 ? -1 : 0) : entries.indexOf(active);
        const next = entries.at((at + by) % entries.length);
        if (next !== undefined) setActive(next);
    };
    return { active, setActive, step };
}

type ItemProps = { id: string; entry: Entry; isActive: boolean; onPoint: () => void; onChoose: () => void };

function Item({ id, entry: { label, hint }, isActive, onPoint, onChoose }: ItemProps) {
    const item = useRef<HTMLDivElement>(null);
    useEffect(() => {
        if (isActive) item.current?.scrollIntoView({ block: 'nearest' });
    }, [isActive]);
    return (
        <div
            ref={item}
            id={id}
            role="menuitem"
            tabIndex={-1}
            className={styles.item}
            data-active={isActive || undefined}
            onPointerMove={isActive ? undefined : onPoint}
            // The focus stays in the field.
            onMouseDown={(event) => event.preventDefault()}
            onClick={onChoose}
        >
            <span className={styles.label}>
                <UserText text={label} />
            </span>
            {hint !== undefined && <span className={styles.hint}>{hint}</span>}
        </div>
    );
}
