// The amount that is written, and what the creator gets of a call: the same rule as `fee` of the program.

import { MoneyError, parseUsdc } from '../../../shared/money';

const BASIS_POINTS = 10_000n;

/** The fee is rounded down; the rest is the creator's. */
export function splitOf(price: bigint, feeBps: number): { readonly creator: bigint; readonly platform: bigint } {
    const platform = (price * BigInt(feeBps)) / BASIS_POINTS;
    return { creator: price - platform, platform };
}

/** What is written, or `null` as long as it is no amount. */
export function amountOf(text: string): bigint | null {
    try {
        return text.trim() === '' ? null : parseUsdc(text);
    } catch (error) {
        if (error instanceof MoneyError) return null;
        throw error;
    }
}
