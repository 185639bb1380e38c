// Amounts between text and base units: nothing is lost, nothing is rounded, nothing unclear is accepted.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { MAX_USDC, MoneyError, formatSol, formatUsdc, parseUsdc, usdcText } from '../src/shared/money';

const amounts = fc.bigInt({ min: 0n, max: MAX_USDC });

test('every amount survives the way to text and back', () => {
    fc.assert(fc.property(amounts, (amount) => parseUsdc(usdcText(amount)) === amount));
});

test('the smallest and the largest amounts are plain decimals', () => {
    for (const amount of [
        ...Array.from({ length: 21 }, (_, base) => BigInt(base)),
        2n ** 53n + 1n,
        MAX_USDC - 1n,
        MAX_USDC,
    ]) {
        expect(usdcText(amount)).toMatch(/^\d+(\.\d{1,6})?$/);
        expect(parseUsdc(usdcText(amount))).toBe(amount);
    }
    expect(usdcText(1n)).toBe('0.000001');
    expect(usdcText(MAX_USDC)).toBe('18446744073709.551615');
});

test('what people see has the same digits as the exact text', () => {
    fc.assert(
        fc.property(amounts, (amount) => {
            const shown = formatUsdc(amount).replaceAll('\u202f', '');
            expect(shown).toMatch(/^\d+(\.\d{2,6})?$/);
            expect(parseUsdc(shown)).toBe(amount);
        }),
    );
});

test('groups have three digits', () => {
    fc.assert(fc.property(amounts, (amount) => /^\d{1,3}(\u202f\d{3})*(\.\d+)?$/.test(formatUsdc(amount))));
});

test('a decimal with up to six places is its number of millionths', () => {
    const decimals = fc.tuple(fc.nat(10 ** 9), fc.nat(10 ** 6 - 1));
    fc.assert(
        fc.property(decimals, ([whole, millionths]) => {
            const text = `${whole}.${String(millionths).padStart(6, '0')}`;
            expect(parseUsdc(text)).toBe(BigInt(whole) * 1_000_000n + BigInt(millionths));
        }),
    );
});

test('a text is accepted only if it is a plain decimal number', () => {
    fc.assert(
        fc.property(fc.string(), (text) => {
            let amount: bigint;
            try {
                amount = parseUsdc(text);
            } catch (error) {
                expect(error).toBeInstanceOf(MoneyError);
                return;
            }
            expect(text.trim()).toMatch(/^\d+(\.\d+)?$/);
            expect(amount).toBeGreaterThanOrEqual(0n);
        }),
    );
});

test.each([
    '',
    ' ',
    '.5',
    '5.',
    '1e3',
    '-1',
    '+1',
    '1,5',
    '1 000',
    '0x10',
    '٣',
    '0.0000001',
    'NaN',
    '1.2.3',
    '99999999999999999999',
])('%o is refused', (text) => expect(() => parseUsdc(text)).toThrow(MoneyError));

test.each([
    [0n, '0'],
    [1n, '0.000001'],
    [10_000n, '0.01'],
    [500_000n, '0.50'],
    [1_000_000n, '1'],
    [1_234_567_500_000n, '1\u202f234\u202f567.50'],
    [-1_500_000n, '\u22121.50'],
])('%d base units are shown as %o', (amount, text) => expect(formatUsdc(amount)).toBe(text));

test('SOL is rounded down to four decimals', () => {
    expect(formatSol(99_996_399_999n)).toBe('99.9963');
    expect(formatSol(10_000_000_000n)).toBe('10');
});
