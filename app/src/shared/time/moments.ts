// Moments as people read them: how long ago, and exactly, in UTC.

import { plural } from '../figures';

const UNITS = [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
] as const;

/** `3 minutes ago`. */
export function agoText(seconds: number): string {
    const found = UNITS.find(([, length]) => seconds >= length);
    return found === undefined ? 'just now' : `${plural(Math.floor(seconds / found[1]), found[0])} ago`;
}

function utc(unixSeconds: number, characters: number): string {
    const moment = new Date(unixSeconds * 1_000);
    return Number.isNaN(moment.getTime()) ? '' : `${moment.toISOString().slice(0, characters).replace('T', ' ')} UTC`;
}

/** `2026-11-26 02:22:38 UTC` */
export const exactTime = (unixSeconds: number): string => utc(unixSeconds, 19);

/** `2026-11-30 02:24 UTC` */
export const momentText = (unixSeconds: number): string => utc(unixSeconds, 16);
