// Where a day (UTC) stands in a window of days that ends today.

const MS_PER_DAY = 86_400_000;

/** Days since 1970. */
export const dayNumber = (day: string): number => Math.floor(Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY);

/** `2026-11-23`. */
export const dayText = (number: number): string => new Date(number * MS_PER_DAY).toISOString().slice(0, 10);

export const dayOf = (moment: Date): number => Math.floor(moment.getTime() / MS_PER_DAY);

/** 0 for the oldest day of the window, 1 for today. What is outside stands at its edge. */
export function dayShare(day: string, windowDays: number, now: Date): number {
    const age = Math.min(Math.max(dayOf(now) - dayNumber(day), 0), windowDays - 1);
    return 1 - age / Math.max(windowDays - 1, 1);
}
