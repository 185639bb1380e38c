// Short remarks that something is done. Problems are said in a box where they happened, and never here.

import { useSyncExternalStore } from 'react';

export type Toast = { readonly id: number; readonly text: string };

const SHOWN_MS = 4_000;
const MOST = 3;

let toasts: readonly Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(shown: readonly Toast[]): void {
    toasts = shown;
    for (const listener of listeners) listener();
}

/** `text` is the page's own; text of strangers goes through `visible` first. */
export function toast(text: string): void {
    const shown = { id: next++, text };
    set([...toasts.filter((other) => other.text !== text), shown].slice(-MOST));
    setTimeout(() => set(toasts.filter(({ id }) => id !== shown.id)), SHOWN_MS);
}

const subscribe = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
};

export const useToasts = (): readonly Toast[] => useSyncExternalStore(subscribe, () => toasts);
