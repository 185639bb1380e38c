// The search in the header. On the list of agents it searches while someone types; elsewhere it leads there.

import { useLocation, useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useEffect, useRef, useState } from 'react';

import styles from './SearchBox.module.css';
import { readSearch } from './search';

/** Between the last key and the search. */
const PAUSE_MS = 180;

export function SearchBox() {
    const { pathname, search } = useLocation();
    const navigate = useNavigate();
    const onList = pathname === '/';
    const current = onList ? (readSearch(search).q ?? '') : '';
    const [text, setText] = useState(current);
    const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
    const sent = useRef(current);
    useEffect(() => {
        // A link or the back button changed the URL, and not this field.
        if (current !== sent.current) {
            sent.current = current;
            setText(current);
        }
    }, [current]);

    const go = (value: string): void => {
        clearTimeout(timer.current);
        const q = value.trim();
        sent.current = q;
        void navigate({
            to: '/',
            search: (previous) => readSearch({ ...(onList ? previous : {}), q }),
            replace: onList,
            resetScroll: !onList,
        });
    };
    const change = (value: string): void => {
        setText(value);
        clearTimeout(timer.current);
        if (onList) timer.current = setTimeout(() => go(value), PAUSE_MS);
    };
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        go(text);
    };
    return (
        <search>
            <form onSubmit={submit} className={styles.form} action="/">
                <svg className={styles.icon} width="18" height="18" viewBox="0 0 24 24" aria-hidden="true">
                    <circle cx="11" cy="11" r="7" fill="none" stroke="currentColor" strokeWidth="2" />
                    <path d="M16 16l5 5" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
                </svg>
                <input
                    type="search"
                    name="q"
                    dir="auto"
                    maxLength={200}
                    autoComplete="off"
                    aria-label="Search agents"
                    placeholder="Search agents"
                    className={styles.input}
                    value={text}
                    onChange={(event) => change(event.target.value)}
                />
            </form>
        </search>
    );
}
