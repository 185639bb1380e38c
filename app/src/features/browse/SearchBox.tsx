// The search of the list of agents. It searches while someone types.

import { useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';

import { useSoon } from '../../shared/soon';
import styles from './SearchBox.module.css';
import { readSearch } from './search';
import { words } from './words';

export function SearchBox({ q = '' }: { q: string | undefined }) {
    const navigate = useNavigate();
    const [text, setText] = useState(q);
    const [seen, setSeen] = useState(q);
    const [sent, setSent] = useState(q);
    if (seen !== q) {
        // A link or the back button changed the URL, and not what is typed here.
        setSeen(q);
        if (q !== sent) setText(q);
    }
    const { soon, now } = useSoon((typed: string) => {
        const next = readSearch({ q: typed }).q ?? '';
        setSent(next);
        void navigate({
            to: '/',
            search: (previous) => readSearch({ ...previous, q: next }),
            replace: true,
            resetScroll: false,
        });
    });
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        now(text);
    };
    return (
        <search className={styles.search}>
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
                    aria-label={words.search.label}
                    placeholder={words.search.label}
                    className={styles.input}
                    value={text}
                    onChange={({ target }) => (setText(target.value), soon(target.value))}
                />
            </form>
        </search>
    );
}
