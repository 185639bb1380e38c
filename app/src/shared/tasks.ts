// How the tasks began that this browser has sent, so that a list can say what each execution was about. The service and
// the chain do not show tasks; these words stay in this browser, for each wallet, until they are removed.

import { useMemo, useSyncExternalStore } from 'react';

const PREFIX = 'crtx.tasks.';
/** Older ones are forgotten. */
const MOST = 200;
const CHARACTERS = 120;
/** More than enough for the characters above, so that a long task costs no time. */
const LOOKED_AT = 1_000;

type Entry = readonly [executionId: string, text: string];

const listeners = new Set<() => void>();

/** The beginning of a task in one line. */
export function excerptOf(task: string): string {
    const line = Array.from(task.slice(0, LOOKED_AT).replace(/\s+/g, ' ').trim());
    const isCut = line.length > CHARACTERS || task.length > LOOKED_AT;
    return line.slice(0, CHARACTERS).join('') + (isCut ? '\u2026' : '');
}

/** Does nothing where the browser keeps nothing: the words are only for convenience. */
export function rememberTask(wallet: string, executionId: string, task: string): void {
    const known = parsed(localStorage.getItem(PREFIX + wallet));
    if (known.some(([id]) => id === executionId)) return;
    try {
        localStorage.setItem(
            PREFIX + wallet,
            JSON.stringify([[executionId, excerptOf(task)], ...known].slice(0, MOST)),
        );
    } catch {
        return;
    }
    changed();
}

export function forgetTasks(wallet: string): void {
    localStorage.removeItem(PREFIX + wallet);
    changed();
}

/** By the id of the execution. */
export function useTasks(wallet: string): ReadonlyMap<string, string> {
    const text = useSyncExternalStore(onTasksChanged, () => localStorage.getItem(PREFIX + wallet));
    return useMemo(() => new Map(parsed(text)), [text]);
}

function onTasksChanged(listener: () => void): () => void {
    listeners.add(listener);
    window.addEventListener('storage', listener);
    return () => {
        listeners.delete(listener);
        window.removeEventListener('storage', listener);
    };
}

function changed(): void {
    for (const listener of listeners) listener();
}

function parsed(text: string | null): readonly Entry[] {
    try {
        const entries: unknown = JSON.parse(text ?? '[]');
        return Array.isArray(entries) ? entries.filter(isEntry).slice(0, MOST) : [];
    } catch {
        return [];
    }
}

const isEntry = (entry: unknown): entry is Entry =>
    Array.isArray(entry) && entry.length === 2 && entry.every((part) => typeof part === 'string');
