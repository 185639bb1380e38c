// The amount or count that is written in a field.

import { MoneyError, parseUsdc } from '../../../shared/money';

/** What is written, or `null` as long as it is no amount. */
export function amountOf(text: string): bigint | null {
    try {
        return text.trim() === '' ? null : parseUsdc(text);
    } catch (error) {
        if (error instanceof MoneyError) return null;
        throw error;
    }
}

/** The most calls whose cover can be promised: one byte of the listing. */
export const MAX_COVER = 255;

/** A promised cover, or `null` as long as it is none. */
export function coverOf(text: string): number | null {
    const calls = /^\d{1,4}$/.test(text.trim()) ? Number(text.trim()) : NaN;
    return calls <= MAX_COVER ? calls : null;
}
