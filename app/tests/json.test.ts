// Amounts in answers are read from their text, and only where the service wrote them.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { MAX_USDC, usdcText } from '../src/shared/money';
import { parseAnswer } from '../src/shared/api/json';

const sourceIsKnown =
    (JSON.parse('1', (_key, _value, context?: { source?: string }) => context?.source) as unknown) === '1';

test('an amount is exact, however large', () => {
    // Browsers without the source of a number are exact up to 15 digits.
    const max = sourceIsKnown ? MAX_USDC : 999_999_999_999_999n;
    fc.assert(
        fc.property(fc.bigInt({ min: 0n, max }), (amount) => {
            const read = parseAnswer(`{"list": [{"price_per_call_usdc": ${usdcText(amount)}}]}`);
            expect(read).toEqual({ list: [{ price_per_call_usdc: amount }] });
        }),
    );
});

test('numbers in the JSON of creators stay numbers', () => {
    const text =
        '{"input_schema": {"default": {"fee_usdc": 0.5}, "x": [{"y_usdc": 1}]}, "cost_usdc": 0.5, "steps": {"a_usdc": 2}}';
    expect(parseAnswer(text)).toEqual({
        input_schema: { default: { fee_usdc: 0.5 }, x: [{ y_usdc: 1 }] },
        cost_usdc: 500_000n,
        steps: { a_usdc: 2 },
    });
});

test('an absent amount is null', () => {
    expect(parseAnswer('{"short_usdc": null, "n": 1.5}')).toEqual({ short_usdc: null, n: 1.5 });
});

test('the market’s parameters are amounts, and those of a call stay what the caller wrote', () => {
    const text =
        '{"parameters": {"min_price_usdc": 0.001, "collateral_tiers": [{"max_price_usdc": null, "collateral_usdc": 1000}]}}';
    expect(parseAnswer(text, '/v1/network')).toEqual({
        parameters: {
            min_price_usdc: 1_000n,
            collateral_tiers: [{ max_price_usdc: null, collateral_usdc: 1_000_000_000n }],
        },
    });
    expect(parseAnswer(text, '/v1/executions/{execution_id}')).toEqual(JSON.parse(text));
});
