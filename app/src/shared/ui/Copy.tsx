// A button that puts a text on the clipboard and says so. As `text` it is an icon, which stands after what it copies.

import { useEffect, useState } from 'react';

import { Button, type Look } from './Button';
import styles from './Copy.module.css';
import { toast } from './toast';
import { words } from './words';

const SHOWN_MS = 2_000;
const ICONS = {
    idle: 'M9 9h9.5a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 8 19.5V10a1 1 0 0 1 1-1zM5 15.5a1.5 1.5 0 0 1-1.5-1.5V4.5A1.5 1.5 0 0 1 5 3h9a1.5 1.5 0 0 1 1.5 1.5',
    done: 'M5 12.5l4.5 4.5L19 7',
    failed: 'M6 6l12 12M18 6L6 18',
};

export type CopyProps = { text: string; /** What is copied, such as `address`. */ what: string; look?: Look };

export function Copy({ text, what, look = 'text' }: CopyProps) {
    const [state, setState] = useState<keyof typeof ICONS>('idle');
    useEffect(() => {
        if (state === 'idle') return;
        const timer = setTimeout(() => setState('idle'), SHOWN_MS);
        return () => clearTimeout(timer);
    }, [state]);
    const copy = (): void => {
        navigator.clipboard.writeText(text).then(
            () => {
                setState('done');
                toast(words.copy.toast(what));
            },
            () => setState('failed'),
        );
    };
    const label = words.copy[state];
    const isIcon = look === 'text';
    const button = (
        <Button look={look} onPress={copy} aria-label={`${label} ${what}`}>
            <svg className={styles.icon} width="16" height="16" viewBox="0 0 24 24" aria-hidden="true">
                <path d={ICONS[state]} />
            </svg>
            <span
                className={isIcon && state !== 'failed' ? 'visually-hidden' : undefined}
                role={state === 'failed' ? 'alert' : undefined}
            >
                {label}
            </span>
        </Button>
    );
    return isIcon ? <span className={styles.small}>{button}</span> : button;
}
