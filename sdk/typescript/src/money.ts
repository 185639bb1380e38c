// Amounts of USDC. In answers they are exact decimal texts such as `0.05`; base units (10^-6 USDC) are `bigint`.

const DECIMALS = 6;
/** The largest amount that the program can hold. */
const MAX_BASE_UNITS = 2n ** 64n - 1n;
/** Below it no two amounts are the same number: the next double is less than a base unit away. */
const MAX_EXACT_USDC = 2 ** 32;

/** Base units of a decimal text. A sign, an exponent or a seventh decimal is refused. */
export function baseUnits(usdc: string): bigint {
    const [, whole, decimals = ''] = /^(\d{1,20})(?:\.(\d{1,6}))?$/.exec(usdc) ?? [];
    const amount = whole === undefined ? undefined : BigInt(whole + decimals.padEnd(DECIMALS, '0'));
    if (amount === undefined || amount > MAX_BASE_UNITS) {
        throw new TypeError(
            'an amount in USDC is a decimal number from 0 to 18446744073709.551615 with at most six decimals',
        );
    }
    return amount;
}

/** The decimal text of base units, without zeros at the end. */
export function usdcText(amount: bigint): string {
    if (amount < 0n || amount > MAX_BASE_UNITS) throw new TypeError('an amount has 64 bits and no sign');
    const digits = amount.toString().padStart(DECIMALS + 1, '0');
    const decimals = digits.slice(-DECIMALS).replace(/0+$/, '');
    return digits.slice(0, -DECIMALS) + (decimals === '' ? '' : `.${decimals}`);
}

/** Members with JSON of creators and callers. Numbers in there are no amounts. */
const FOREIGN = new Set(['input_schema', 'output_schema', 'parameters', 'steps']);

/** Reads an answer, with the text of each amount in place of its number. */
export function parseAnswer(json: string): unknown {
    const answer: unknown = JSON.parse(json);
    // With a stack of its own, because JSON of strangers may be deep.
    const waiting = [answer];
    while (waiting.length > 0) {
        const value = waiting.pop();
        if (typeof value !== 'object' || value === null) continue;
        const members = value as Record<string, unknown>;
        for (const [name, member] of Object.entries(members)) {
            if (typeof member === 'number' && name.endsWith('_usdc')) members[name] = exactText(member);
            else if (!FOREIGN.has(name)) waiting.push(member);
        }
    }
    return answer;
}

function exactText(number: number): string {
    const text = number.toFixed(DECIMALS);
    if (number < 0 || number > MAX_EXACT_USDC || Number(text) !== number) throw new TypeError('an amount is not exact');
    return usdcText(baseUnits(text));
}
