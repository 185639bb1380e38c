// Days (UTC): as numbers since 1970, as `2026-11-23`, and as people read them.

const MS_PER_DAY = 86_400_000;

/** Days since 1970. */
export const dayNumber = (day: string): number => Math.floor(Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY);

/** `2026-11-23`. */
export const dayText = (number: number): string => new Date(number * MS_PER_DAY).toISOString().slice(0, 10);

export const dayOf = (moment: Date): number => Math.floor(moment.getTime() / MS_PER_DAY);

const SHORT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const LONG = new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
});

const shown = (format: Intl.DateTimeFormat, day: string): string => {
    const moment = Date.parse(`${day}T00:00:00Z`);
    return Number.isNaN(moment) ? day : format.format(moment);
};

/** `23 Nov`. */
export const shortDay = (day: string): string => shown(SHORT, day);

/** `Mon, 23 Nov 2026`. */
export const longDay = (day: string): string => shown(LONG, day);
