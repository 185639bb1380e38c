// Counts down to a moment while the page is open. The title has the exact time, for pointers and screen readers.

import { useEffect, useState } from 'react';

import { exactTime } from '../time/moments';
import { spanText } from '../time/spans';

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
    return (
        <time dateTime={moment.toISOString()} title={exactTime(moment.getTime() / 1_000)} className="number">
            {isOver ? over : `in ${spanText(left)}`}
        </time>
    );
}
