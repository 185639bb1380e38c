// Reads queries again when something else that is read has changed: sums when the list changes, the chain when the
// service says something new. So they need not ask by themselves, and many changes are followed by few readings.

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';

const EVERY_MS = 5_000;

/** `seen`: what changes; `undefined` while it is not known. `names`: how the keys of the queries begin. */
export function useReadAgain(seen: unknown, names: readonly string[]): void {
    const queries = useQueryClient();
    const before = useRef(seen);
    const last = useRef(0);
    const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
    const name = names.join(' ');
    useEffect(() => {
        const isChanged = before.current !== undefined && seen !== undefined && before.current !== seen;
        before.current = seen;
        if (!isChanged || timer.current !== undefined) return;
        const read = (): void => {
            timer.current = undefined;
            last.current = Date.now();
            for (const first of name.split(' ')) void queries.invalidateQueries({ queryKey: [first] });
        };
        timer.current = setTimeout(read, Math.max(0, last.current + EVERY_MS - Date.now()));
    }, [seen, name, queries]);
    useEffect(() => () => clearTimeout(timer.current), []);
}
