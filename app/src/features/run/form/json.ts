// JSON that people write or strangers send: its type, exact reading, and its one canonical form.

import { words } from '../words';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/** Why a text is no JSON that can be sent; the message is for the user. */
export class JsonError extends Error {}

/** The deepest nesting of a request. */
const MAX_DEPTH = 64;

export const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text or a number of JSON. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Reads JSON that the user wrote. A number that a computer would change is refused. */
export function readJson(text: string): Json {
    let value: Json;
    try {
        value = JSON.parse(text) as Json;
    } catch (error) {
        if (error instanceof RangeError) throw new JsonError(words.form.tooDeep);
        throw new JsonError(words.form.notJson(error instanceof Error ? error.message : words.form.unreadable));
    }
    for (const [token] of text.matchAll(TOKEN)) {
        if (!token.startsWith('"') && !isExact(token)) {
            throw new JsonError(words.form.notExact(token.slice(0, 40)));
        }
    }
    checkSendable(value);
    return value;
}

/** Beyond it, a double does not hold all whole numbers. */
const MAX_WHOLE = 2 ** 53;

/**
 * Whether a number has exactly the value that is hashed: that of the shortest decimal that reads as the same double.
 * The service has the same rule (crates/protocol/src/strict_json.rs).
 */
export function isExact(literal: string): boolean {
    const value = Number(literal);
    const isSafe = !/^-?\d+$/.test(literal) || Math.abs(value) <= MAX_WHOLE;
    return isSafe && Number.isFinite(value) && decimal(literal) === decimal(String(value));
}

/** The digits without zeros at their ends, and the power of ten behind them; without the sign. */
function decimal(literal: string): string {
    const [number = '', exponent = '0'] = literal.toLowerCase().split('e');
    const [whole = '', fraction = ''] = number.replace('-', '').split('.');
    const all = whole + fraction;
    let [start, end] = [0, all.length];
    while (end > 0 && all[end - 1] === '0') end -= 1;
    while (start < end && all[start] === '0') start += 1;
    return start === end ? '0' : `${all.slice(start, end)}e${Number(exponent) + all.length - end - fraction.length}`;
}

/** Refuses what has no canonical form: half a surrogate pair, and JSON that is nested too deeply. */
export function checkSendable(value: Json): void {
    const waiting: { value: Json; depth: number }[] = [{ value, depth: 0 }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (next.depth > MAX_DEPTH) throw new JsonError(words.form.tooDeep);
        if (typeof next.value === 'string') checkText(next.value);
        if (typeof next.value !== 'object' || next.value === null) continue;
        for (const [name, member] of Object.entries(next.value)) {
            if (!Array.isArray(next.value)) checkText(name);
            waiting.push({ value: member, depth: next.depth + 1 });
        }
    }
}

/** Half a surrogate pair has no form in UTF-8. */
export function checkText(text: string): void {
    if (/[\ud800-\udfff]/u.test(text)) throw new JsonError(words.form.halfCharacter);
}

/** The RFC 8785 form: members in the order of their UTF-16 code units, numbers as ECMAScript writes them. */
export function canonical(value: Json): string {
    if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
    if (!isObject(value)) return JSON.stringify(value);
    const object = value;
    const members = Object.keys(object)
        .sort()
        .map((name) => `${JSON.stringify(name)}:${canonical(object[name] ?? null)}`);
    return `{${members.join(',')}}`;
}
