// A moment: how long ago, and the exact time for those who point at it or hear it.

import { agoText, exactTime } from '../time/moments';

/** From this age on the date is shown instead. */
const LONG_AGO_S = 30 * 86_400;

export function Time({ iso }: { iso: string }) {
    const moment = new Date(iso);
    const seconds = (Date.now() - moment.getTime()) / 1_000;
    return (
        <time dateTime={iso} title={exactTime(moment.getTime() / 1_000)} className="number">
            {seconds > LONG_AGO_S ? iso.slice(0, 10) : agoText(seconds)}
        </time>
    );
}
