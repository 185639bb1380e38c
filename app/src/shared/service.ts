// Whether the service that this page came from answers. While it does not, the page says so and asks until it does.

import { useSyncExternalStore } from 'react';

const ASK_MS = 1_500;
/** A question that hangs is no answer. */
const PATIENCE_MS = 5_000;

let waiting: Promise<boolean> | null = null;
const listeners = new Set<() => void>();

/** Resolves when the service answers, with whether it was away. It is asked once at a time, whoever waits. */
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

/** The page itself, from the service: a proxy that answers for it says that it is away. */
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
