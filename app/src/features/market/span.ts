// Spans of time as people write them, exact to the second: `3 d`, `1 h 30 min`, `120 s`.

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

/** Every part, so that nothing is rounded. */
export function exactSpan(seconds: number): string {
    let rest = seconds;
    const parts: string[] = [];
    for (const [unit, length] of UNITS) {
        const count = Math.floor(rest / length);
        rest -= count * length;
        if (count > 0) parts.push(`${count} ${unit}`);
    }
    return parts.length === 0 ? '0 s' : parts.join(' ');
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
