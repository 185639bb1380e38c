// Keys that are granted and perhaps not registered yet. What is needed to register a key is stored before the wallet
// signs, so that a reload between the signature and the registration loses nothing. The key itself is not stored: its
// owner has it before anything is signed, and the proof was made while it was on the page.

import type { Registration } from './secret';
import { words } from './words';

export type PendingKey = Registration & {
    readonly wallet: string;
    readonly name: string;
    /** Of the chain that the key is for. */
    readonly genesisHash: string | null;
    /** Milliseconds since 1970. */
    readonly createdAt: number;
};

const PREFIX = 'crtx.key.';

const listeners = new Set<() => void>();
let known: readonly PendingKey[] | null = null;

/** Throws if this browser keeps nothing; then nothing may be signed. */
export function putPending(key: PendingKey): void {
    try {
        localStorage.setItem(PREFIX + key.sessionKey, JSON.stringify(key));
    } catch {
        throw new Error(words.pending.notKept);
    }
    changed();
}

/** The key is registered, or was never granted. */
export function removePending(sessionKey: string): void {
    localStorage.removeItem(PREFIX + sessionKey);
    changed();
}

/** All of them, newest first; the same array until one changes. */
export function pendingKeys(): readonly PendingKey[] {
    known ??= Object.keys(localStorage)
        .filter((key) => key.startsWith(PREFIX))
        .map((key) => parsed(localStorage.getItem(key)))
        .filter((key) => key !== null)
        .sort((one, other) => other.createdAt - one.createdAt);
    return known;
}

export function onPendingChanged(listener: () => void): () => void {
    const elsewhere = ({ key }: StorageEvent): void => {
        if (key === null || key.startsWith(PREFIX)) changed();
    };
    listeners.add(listener);
    window.addEventListener('storage', elsewhere);
    return () => {
        listeners.delete(listener);
        window.removeEventListener('storage', elsewhere);
    };
}

function changed(): void {
    known = null;
    for (const listener of listeners) listener();
}

function parsed(text: string | null): PendingKey | null {
    try {
        const key = JSON.parse(text ?? 'null') as Partial<PendingKey> | null;
        const texts = [key?.wallet, key?.name, key?.sessionKey, key?.proof, key?.lastFour];
        return texts.every((member) => typeof member === 'string') && typeof key?.createdAt === 'number'
            ? (key as PendingKey)
            : null;
    } catch {
        return null;
    }
}
