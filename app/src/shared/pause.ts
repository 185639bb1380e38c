// What of the market is stopped, in words.

import { words } from './words';

/** `null`: nothing is. */
export function stoppedText(openings: boolean, listings: boolean): string | null {
    const stopped = [...(openings ? [words.paused.calls] : []), ...(listings ? [words.paused.listings] : [])];
    return stopped.length === 0 ? null : stopped.join(', ');
}
