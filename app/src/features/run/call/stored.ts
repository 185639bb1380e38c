// Calls that this browser has started and that have not ended. A call is stored before anything is signed, with the id
// of its execution, so that a repeated press, a reload or a crash continues the same call and never pays a second time.

import { rememberTask } from '../../../shared/tasks';
import type { Request } from './request';
import { words } from '../words';

export type StoredCall = Request & {
    readonly executionId: string;
    readonly agentId: string;
    readonly agentName: string;
    readonly wallet: string;
    /** Base units, in decimal digits: what the user saw. */
    readonly price: string;
    /** Hexadecimal digits: the terms that the user saw. */
    readonly termsHash: string;
    /** Of the chain that the call is for. */
    readonly genesisHash: string;
    readonly createdAt: string;
    /** The last transaction that may have been sent, and when. */
    readonly signature?: string | undefined;
    readonly signedAt?: number | undefined;
    /** The service has the request. */
    readonly handedOver?: true;
};

const PREFIX = 'crtx.call.';

const listeners = new Set<() => void>();
let known: readonly StoredCall[] | null = null;

/** Throws if this browser keeps nothing; then nothing may be signed. */
export function putCall(call: StoredCall): void {
    try {
        localStorage.setItem(PREFIX + call.executionId, JSON.stringify(call));
    } catch {
        throw new Error(words.stopped.notKept);
    }
    // What the call is about stays after its end, in the list of executions. A call that nobody signs has no place there.
    if (call.signature !== undefined) rememberTask(call.wallet, call.executionId, call.task);
    changed();
}

/** The call has ended, or was never paid and is given up. */
export function removeCall(executionId: string): void {
    localStorage.removeItem(PREFIX + executionId);
    changed();
}

/** All calls, newest first; the same array until one changes. */
export function storedCalls(): readonly StoredCall[] {
    known ??= Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index) ?? '')
        .filter((key) => key.startsWith(PREFIX))
        .map((key) => parsed(localStorage.getItem(key)))
        .filter((call) => call !== null)
        .sort((one, other) => other.createdAt.localeCompare(one.createdAt));
    return known;
}

export const storedCall = (executionId: string): StoredCall | null =>
    storedCalls().find((call) => call.executionId === executionId) ?? null;

export function onCallsChanged(listener: () => void): () => void {
    const other = (event: StorageEvent): void => {
        if (event.key === null || event.key.startsWith(PREFIX)) changed();
    };
    listeners.add(listener);
    window.addEventListener('storage', other);
    return () => {
        listeners.delete(listener);
        window.removeEventListener('storage', other);
    };
}

function changed(): void {
    known = null;
    for (const listener of listeners) listener();
}

function parsed(text: string | null): StoredCall | null {
    try {
        const call = JSON.parse(text ?? 'null') as StoredCall | null;
        const isWhole =
            typeof call?.executionId === 'string' && typeof call.task === 'string' && typeof call.price === 'string';
        return isWhole && typeof call.createdAt === 'string' ? call : null;
    } catch {
        return null;
    }
}
