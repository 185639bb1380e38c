// The division of payments, compared with the program's in tests/vectors/fees.json.

import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import { MAX_FEE_BPS, smallestAmount, splitOf } from '../src/shared/fee';

type Vector = {
    readonly amount: string;
    readonly fee_bps: number;
    readonly creator: string;
    readonly platform: string;
};

const vectors = JSON.parse(
    readFileSync(new URL('../../tests/vectors/fees.json', import.meta.url), 'utf8'),
) as readonly Vector[];

test.each(vectors)('$amount at $fee_bps basis points is divided as the program divides it', (vector) => {
    expect(splitOf(BigInt(vector.amount), vector.fee_bps)).toEqual({
        creator: BigInt(vector.creator),
        platform: BigInt(vector.platform),
    });
});

test('every base unit of a price goes to somebody', () => {
    fc.assert(
        fc.property(
            fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
            fc.integer({ min: 0, max: MAX_FEE_BPS }),
            (price, bps) => {
                const { creator, platform } = splitOf(price, bps);
                expect(creator + platform).toBe(price);
                expect(platform * 10_000n <= price * BigInt(bps)).toBe(true);
            },
        ),
    );
});

test('the smallest amount with a fee is the first whose fee is not rounded to nothing', () => {
    fc.assert(
        fc.property(fc.integer({ min: 1, max: MAX_FEE_BPS }), (bps) => {
            expect(splitOf(smallestAmount(bps), bps).platform).toBe(1n);
            expect(splitOf(smallestAmount(bps) - 1n, bps).platform).toBe(0n);
        }),
    );
});
