// Whether a moment has passed, for components: changes by itself when it does.

import { useEffect, useState } from 'react';

/** The longest time that a browser's timer takes. */
const LONGEST_MS = 2 ** 31 - 1;

/** `moment`: seconds since 1970; `null`: never. */
export function useIsPast(moment: number | null): boolean {
    const [now, setNow] = useState(Date.now);
    const left = moment === null ? null : moment * 1_000 - now;
    useEffect(() => {
        if (left === null || left < 0) return;
        const timer = setTimeout(() => setNow(Date.now()), Math.min(left + 1, LONGEST_MS));
        return () => clearTimeout(timer);
    }, [left]);
    return left !== null && left < 0;
}
