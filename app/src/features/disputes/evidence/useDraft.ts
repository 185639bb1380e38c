// A draft whose text survives a reload of the tab. Files cannot be kept: the browser forgets them.

import { useState } from 'react';

import { type Draft, EMPTY } from './draft';

const PREFIX = 'crtx.statement.';

/** `key`: what the statement is about, and which side writes it. */
export function useDraft(key: string): [Draft, (draft: Draft) => void] {
    const [draft, setDraft] = useState<Draft>(() => ({ ...EMPTY, text: remembered(key) }));
    const change = (next: Draft): void => {
        setDraft(next);
        remember(key, next.text);
    };
    return [draft, change];
}

/** Call it after the statement is on the chain. */
export function forgetDraft(key: string): void {
    remember(key, '');
}

function remembered(key: string): string {
    try {
        return sessionStorage.getItem(PREFIX + key) ?? '';
    } catch {
        return '';
    }
}

function remember(key: string, text: string): void {
    try {
        if (text === '') sessionStorage.removeItem(PREFIX + key);
        else sessionStorage.setItem(PREFIX + key, text);
    } catch {
        // Only a convenience.
    }
}
