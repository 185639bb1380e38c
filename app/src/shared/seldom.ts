// How often a page asks on its own for what may change while nobody does anything. Four such questions are a minute's
// most; the stream of events, a transaction of the page and a return to its tab make it ask at once.

export const SELDOM_MS = 60_000;
/** For data that changes seldom, or whose changes an event reports. */
export const RARELY_MS = 300_000;
