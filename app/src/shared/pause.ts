// What of the market is stopped, in words.

/** `null`: nothing is. */
export function stoppedText(openings: boolean, listings: boolean): string | null {
    const stopped = [...(openings ? ['no new calls'] : []), ...(listings ? ['no new listings'] : [])];
    return stopped.length === 0 ? null : stopped.join(', ');
}
