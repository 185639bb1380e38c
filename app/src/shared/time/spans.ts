// Spans of time as people write and read them: `3 d`, `1 h 30 min`, `120 s`.

const UNITS = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
] as const;

const SECONDS: Record<string, number> = {
    ...Object.fromEntries(UNITS),
    ...{ day: 86_400, days: 86_400, hour: 3_600, hours: 3_600, m: 60, minute: 60, minutes: 60, second: 1, seconds: 1 },
};

/** The parts of a span that are not 0, largest first. */
function partsOf(seconds: number, units: readonly (readonly [string, number])[]): string {
    let rest = seconds;
    const parts = units.flatMap(([unit, length]) => {
        const count = Math.floor(rest / length);
        rest -= count * length;
        return count > 0 ? [`${count} ${unit}`] : [];
    });
    return parts.length === 0 ? '0 s' : parts.join(' ');
}

/** Every part, so that nothing is rounded. */
export const exactSpan = (seconds: number): string => partsOf(seconds, UNITS);

/** The two largest parts, rounded up to a second: `2 d 4 h`, `3 min 20 s`. */
export function spanText(seconds: number): string {
    const whole = Math.max(0, Math.ceil(seconds));
    const first = Math.max(
        UNITS.findIndex(([, length]) => whole >= length),
        0,
    );
    return partsOf(whole, UNITS.slice(first, first + 2));
}

/** Seconds, or `null` if the text is no span. */
export function parseSpan(text: string): number | null {
    const whole = text.trim().toLowerCase();
    if (!/^(\d{1,9}\s*[a-z]+\s*)+$/.test(whole)) return null;
    let seconds = 0;
    for (const [, count, unit] of whole.matchAll(/(\d+)\s*([a-z]+)/g)) {
        const length = SECONDS[unit ?? ''];
        if (length === undefined) return null;
        seconds += Number(count) * length;
    }
    return seconds;
}
