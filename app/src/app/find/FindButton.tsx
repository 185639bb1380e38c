// The button of the header that opens the search over everything; Ctrl-K and Cmd-K open it, too. Its code comes when it
// is needed.

import { Suspense, lazy, startTransition, useEffect, useEffectEvent, useRef, useState } from 'react';

import { part, partSoon } from '../../shared/part';
import { Button } from '../../shared/ui/Button';
import { words } from '../words';
import styles from './Find.module.css';

const load = () => part(() => import('./Find'));
const Find = lazy(load);

const isMac = /mac|iphone|ipad/i.test(navigator.platform);
const KEY = isMac ? '⌘K' : 'Ctrl K';

export function FindButton() {
    // A number for each opening: it may open again before React has removed the one that was closed.
    const [opening, setOpening] = useState<number | null>(null);
    const openings = useRef(0);
    const open = (): void => setOpening((openings.current += 1));
    const pressed = useEffectEvent((event: KeyboardEvent) => {
        if (event.key.toLowerCase() !== 'k' || event.altKey || event.shiftKey) return;
        if (!(isMac ? event.metaKey : event.ctrlKey)) return;
        // A question that is open is answered first.
        if (document.querySelector('dialog[open]') !== null) return;
        event.preventDefault();
        if (opening !== null && document.querySelector(':popover-open') !== null) setOpening(null);
        else open();
    });
    useEffect(() => {
        document.addEventListener('keydown', pressed);
        return () => document.removeEventListener('keydown', pressed);
    }, []);
    return (
        <>
            <Button
                look="quiet"
                onPress={open}
                onHoverStart={() => partSoon(load)}
                aria-label={words.find.open(KEY)}
                aria-haspopup="dialog"
            >
                <span className={styles.button}>
                    <svg width="18" height="18" viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="2">
                        <circle cx="11" cy="11" r="7" />
                        <path d="M16 16l5 5" strokeLinecap="round" />
                    </svg>
                    <span className={styles.word}>{words.find.button}</span> <kbd className={styles.key}>{KEY}</kbd>
                </span>
            </Button>
            {opening !== null && (
                <Suspense fallback={null}>
                    <Find
                        key={opening}
                        onClose={() => startTransition(() => setOpening((now) => (now === opening ? null : now)))}
                    />
                </Suspense>
            )}
        </>
    );
}
