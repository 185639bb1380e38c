// Counts, shares and times as people read them.

const COUNT = new Intl.NumberFormat('en', { useGrouping: true });
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const MS_PER_SECOND = 1_000;
const MS_PER_MINUTE = 60_000;

export const formatCount = (count: number): string => COUNT.format(count).replaceAll(',', '\u202f');

/** `0.987` is `98.7%`. Rounded down, so that 100% means all. */
export const formatShare = (share: number): string => PERCENT.format(Math.floor(share * 1_000) / 1_000);

/** Milliseconds in the unit that fits. */
export function formatMs(ms: number): string {
    if (ms < MS_PER_SECOND) return `${Math.round(ms)} ms`;
    if (ms < MS_PER_MINUTE) return `${(ms / MS_PER_SECOND).toFixed(ms < 10 * MS_PER_SECOND ? 1 : 0)} s`;
    const [minutes, seconds] = [Math.floor(ms / MS_PER_MINUTE), Math.floor((ms % MS_PER_MINUTE) / MS_PER_SECOND)];
    return seconds === 0 ? `${minutes} min` : `${minutes} min ${seconds} s`;
}

/** `one`, or `many` with an `s`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
    `${formatCount(count)} ${count === 1 ? one : many}`;
