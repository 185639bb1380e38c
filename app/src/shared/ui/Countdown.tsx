// Counts down to a moment while the page is open. The title has the exact time, for pointers and screen readers.

import { useEffect, useState } from 'react';

const PARTS = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
] as const;

/** The two largest parts: `2 d 4 h`, `3 min 20 s`. */
export function spanText(seconds: number): string {
    let rest = Math.max(0, Math.ceil(seconds));
    const first = PARTS.findIndex(([, length]) => rest >= length);
    if (first < 0) return '0 s';
    const parts: string[] = [];
    for (const [unit, length] of PARTS.slice(first, first + 2)) {
        const count = Math.floor(rest / length);
        rest -= count * length;
        if (count > 0) parts.push(`${count} ${unit}`);
    }
    return parts.join(' ');
}

/** Shows `over` once the moment has passed. */
export function Countdown({ to, over }: { to: string | number; over: string }) {
    const moment = new Date(typeof to === 'number' ? to * 1_000 : to);
    const [now, setNow] = useState(Date.now);
    const left = (moment.getTime() - now) / 1_000;
    const isOver = !(left > 0);
    const isLong = left > 3_600;
    useEffect(() => {
        if (isOver) return;
        // Days and hours change seldom.
        const timer = setInterval(() => setNow(Date.now()), isLong ? 30_000 : 1_000);
        return () => clearInterval(timer);
    }, [isOver, isLong]);
    const exact = `${moment.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
    return (
        <time dateTime={moment.toISOString()} title={exact} className="number">
            {isOver ? over : `in ${spanText(left)}`}
        </time>
    );
}
