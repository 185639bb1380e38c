// Periods that one press chooses. A period begins at midnight in the reader's time zone and has no end.

import type { ExecutionsSearch } from './search';

export const RANGES = ['today', 'week', 'days30', 'month', 'all'] as const;

export type Range = (typeof RANGES)[number];

const DAYS_BEFORE: Partial<Record<Range, number>> = { today: 0, week: 6, days30: 29 };

/** When the period begins, in the form of the URL. `undefined`: it has no beginning. */
export function startOf(range: Range, now = new Date()): string | undefined {
    if (range === 'all') return undefined;
    const days = DAYS_BEFORE[range];
    const day = days === undefined ? 1 : now.getDate() - days;
    const start = new Date(now.getFullYear(), now.getMonth(), day);
    return `${start.toISOString().slice(0, 19)}Z`;
}

/** On the first day of a month, today is the same period as this month. */
export const isRange = ({ from, to }: ExecutionsSearch, range: Range, now = new Date()): boolean =>
    to === undefined && from === startOf(range, now);
