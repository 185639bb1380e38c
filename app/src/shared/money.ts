// Amounts of USDC: base units (10^-6 USDC) as `bigint`, between the text that a user types or an API sends and the text
// on the screen. No amount is ever a floating-point number.

import { words } from './words';

export const USDC_DECIMALS = 6;
const UNIT = 10n ** BigInt(USDC_DECIMALS);
/** The largest amount that the program can hold. */
export const MAX_USDC = 2n ** 64n - 1n;

/** Why a text is no amount; the message is for the user. */
export class MoneyError extends Error {}

/** Reads a decimal number of USDC such as `0.25`. Signs, exponents, separators and a seventh decimal are refused. */
export function parseUsdc(text: string): bigint {
    const found = /^(\d{1,20})(?:\.(\d{1,30}))?$/.exec(text.trim());
    if (found === null) throw new MoneyError(words.amount.noNumber);
    const [, whole = '0', decimals = ''] = found;
    const significant = decimals.replace(/0+$/, '');
    if (significant.length > USDC_DECIMALS) throw new MoneyError(words.amount.decimals);
    const amount = BigInt(whole) * UNIT + BigInt(significant.padEnd(USDC_DECIMALS, '0'));
    if (amount > MAX_USDC) throw new MoneyError(words.amount.tooLarge);
    return amount;
}

/** The exact decimal number, without separators: what `parseUsdc` reads and what a request sends. */
export function usdcText(amount: bigint): string {
    const { sign, whole, decimals } = parts(amount);
    return `${sign}${whole}${decimals === '' ? '' : `.${decimals}`}`;
}

/**
 * The exact amount for people: thousands are separated by a narrow space, and there are at least two decimals unless
 * the amount is whole.
 */
export function formatUsdc(amount: bigint): string {
    const { sign, whole, decimals } = parts(amount);
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '\u202f');
    return `${sign === '' ? '' : '\u2212'}${grouped}${decimals === '' ? '' : `.${decimals.padEnd(2, '0')}`}`;
}

function parts(amount: bigint): { sign: string; whole: string; decimals: string } {
    const absolute = amount < 0n ? -amount : amount;
    const decimals = (absolute % UNIT).toString().padStart(USDC_DECIMALS, '0').replace(/0+$/, '');
    return { sign: amount < 0n ? '-' : '', whole: (absolute / UNIT).toString(), decimals };
}

/** `count` parts of `total` as a whole percentage of `total`, rounded down; 0 of nothing. */
export function percentOf(count: bigint, total: bigint): number {
    return total === 0n ? 0 : Number((count * 100n) / total);
}

const LAMPORT_DECIMALS = 9;
/** SOL only pays fees: four decimals are enough for people. */
const SOL_DECIMALS = 4;

/** Lamports as SOL, rounded down to four decimals. */
export function formatSol(lamports: bigint): string {
    const tenThousandths = lamports / 10n ** BigInt(LAMPORT_DECIMALS - SOL_DECIMALS);
    return formatUsdc(tenThousandths * 10n ** BigInt(USDC_DECIMALS - SOL_DECIMALS));
}

/** The exact decimal number of SOL, for fees. */
export function solText(lamports: bigint): string {
    const one = 10n ** BigInt(LAMPORT_DECIMALS);
    const decimals = (lamports % one).toString().padStart(LAMPORT_DECIMALS, '0').replace(/0+$/, '');
    return `${lamports / one}${decimals === '' ? '' : `.${decimals}`}`;
}
