// Whether the service that this page came from answers. While it does not, the page says so and asks until it does.

import { useSyncExternalStore } from 'react';

const ASK_MS = 1_500;
/** An answer that takes longer counts as none. */
const PATIENCE_MS = 5_000;

let waiting: Promise<boolean> | null = null;
const listeners = new Set<() => void>();

/**
 * Resolves when the service answers, with whether it was away. However many callers wait, one request is made at a
 * time.
 */
export function whenServiceAnswers(): Promise<boolean> {
    waiting ??= untilItAnswers().finally(() => {
        waiting = null;
        tell();
    });
    return waiting;
}

let isAway = false;

async function untilItAnswers(): Promise<boolean> {
    let wasAway = false;
    while (!(await answers())) {
        if (!isAway) {
            isAway = true;
            tell();
        }
        wasAway = true;
        await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
    isAway = false;
    return wasAway;
}

/** Asks for the page itself. A proxy that answers instead of the service answers with an error status. */
const answers = (): Promise<boolean> =>
    fetch('/', {
        method: 'HEAD',
        cache: 'no-store',
        credentials: 'omit',
        signal: AbortSignal.timeout(PATIENCE_MS),
    }).then(
        ({ ok }) => ok,
        () => false,
    );

function tell(): void {
    for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
};

export const useServiceIsAway = (): boolean => useSyncExternalStore(subscribe, () => isAway);
