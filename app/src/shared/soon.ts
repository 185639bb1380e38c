// Applies what the user types as soon as the typing pauses.

import { useEffect, useRef } from 'react';

/** Between the last key and the change. */
export const PAUSE_MS = 350;

export type Soon<Value> = {
    readonly soon: (value: Value) => void;
    /** Without waiting. */ readonly now: (value: Value) => void;
};

export function useSoon<Value>(apply: (value: Value) => void): Soon<Value> {
    const latest = useRef(apply);
    useEffect(() => {
        latest.current = apply;
    });
    const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
    useEffect(() => () => clearTimeout(timer.current), []);
    const now = (value: Value): void => {
        clearTimeout(timer.current);
        latest.current(value);
    };
    const soon = (value: Value): void => {
        clearTimeout(timer.current);
        timer.current = setTimeout(() => latest.current(value), PAUSE_MS);
    };
    return { soon, now };
}
