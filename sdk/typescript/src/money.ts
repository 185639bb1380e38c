// Amounts of USDC. In answers they are exact decimal texts such as `0.05`; base units (10^-6 USDC) are `bigint`.

const DECIMALS = 6;
/** The largest amount that the program can hold. */
const MAX_BASE_UNITS = 2n ** 64n - 1n;
/** Below it no two amounts are the same number: the next double is less than a base unit away. */
const MAX_EXACT_USDC = 2 ** 32;

/** Base units of a decimal text. A sign, an exponent or a seventh decimal is refused. */
export function baseUnits(usdc: string): bigint {
    const [, whole, decimals = ''] = /^([0-9]{1,20})(?:\.([0-9]{1,6}))?$/.exec(usdc) ?? [];
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

/** A number while it is not known yet whether a creator wrote it. `source`: its text, which Node.js 20 does not show. */
class Amount {
    constructor(
        readonly number: number,
        readonly source: string | undefined,
    ) {}
}

type Reviver = (name: string, value: unknown, context?: { source?: string }) => unknown;

/** Reads an answer, with the text of each amount in place of its number. */
export function parseAnswer(json: string): unknown {
    const read: Reviver = (name, value, context) =>
        typeof value === 'number' && name.endsWith('_usdc') ? new Amount(value, context?.source) : value;
    const answer: unknown = JSON.parse(json, read);
    // With a stack of its own, because JSON of strangers may be deep.
    const waiting: { value: unknown; isForeign: boolean }[] = [{ value: answer, isForeign: false }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (typeof next.value !== 'object' || next.value === null) continue;
        const members = next.value as Record<string, unknown>;
        for (const [name, member] of Object.entries(members)) {
            const isForeign = next.isForeign || FOREIGN.has(name);
            if (member instanceof Amount) members[name] = isForeign ? member.number : exactText(member);
            else waiting.push({ value: member, isForeign });
        }
    }
    return answer;
}

function exactText({ number, source }: Amount): string {
    if (source !== undefined && /^\d+(\.\d+)?$/.test(source))
        return usdcText(baseUnits(source.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')));
    const text = number.toFixed(DECIMALS);
    const isExact = number >= 0 && !Object.is(number, -0) && number <= MAX_EXACT_USDC && Number(text) === number;
    if (!isExact) throw new TypeError('an amount is not exact');
    return usdcText(baseUnits(text));
}
