// Addresses, hashes and signatures in little space.

/** The beginning and the end of a long identifier. The whole text goes into a title or next to a copy button. */
export const short = (text: string, ends = 4): string =>
    text.length <= 2 * ends + 1 ? text : `${text.slice(0, ends)}\u2026${text.slice(-ends)}`;
