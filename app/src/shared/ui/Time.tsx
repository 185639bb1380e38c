// A moment: how long ago, and the exact time for those who point at it or hear it.

import { formatCount } from '../figures';

const UNITS = [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
] as const;
/** From this age on the date is shown instead. */
const LONG_AGO_S = 30 * 86_400;

function ago(seconds: number): string {
    const found = UNITS.find(([, length]) => seconds >= length);
    if (found === undefined) return 'just now';
    const count = Math.floor(seconds / found[1]);
    return `${formatCount(count)} ${found[0]}${count === 1 ? '' : 's'} ago`;
}

export function Time({ iso }: { iso: string }) {
    const moment = new Date(iso);
    const seconds = (Date.now() - moment.getTime()) / 1_000;
    const exact = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
    return (
        <time dateTime={iso} title={exact} className="number">
            {seconds > LONG_AGO_S ? iso.slice(0, 10) : ago(seconds)}
        </time>
    );
}
