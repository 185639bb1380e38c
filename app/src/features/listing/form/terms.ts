// The amount that is written in a field.

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
