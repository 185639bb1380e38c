// A button that puts a text on the clipboard and says so.

import { useEffect, useState } from 'react';

import { Button, type Look } from './Button';

const SHOWN_MS = 2_000;

export type CopyProps = { text: string; /** What is copied, such as `address`. */ what: string; look?: Look };

export function Copy({ text, what, look = 'text' }: CopyProps) {
    const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle');
    useEffect(() => {
        if (state === 'idle') return;
        const timer = setTimeout(() => setState('idle'), SHOWN_MS);
        return () => clearTimeout(timer);
    }, [state]);
    const copy = (): void => {
        navigator.clipboard.writeText(text).then(
            () => setState('done'),
            () => setState('failed'),
        );
    };
    const label = { idle: 'Copy', done: 'Copied', failed: 'Not copied' }[state];
    return (
        <Button look={look} onPress={copy} aria-label={`${label} ${what}`}>
            <span aria-live="polite">{label}</span>
        </Button>
    );
}
