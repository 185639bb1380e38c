// The program's limits of parameters, differences between two sets, spans of time, and the form's texts.

import { assert, property, array, bigInt, integer, record, tuple } from 'fast-check';
import { expect, test } from 'vitest';

import { draftOf, parsePercent, readDraft } from '../../src/features/admin/parameters/draft';
import { type MarketParameters, differencesOf, problemsOf, sameParameters } from '../../src/features/market/parameters';
import { exactSpan, parseSpan } from '../../src/shared/time/spans';
import { splitOf } from '../../src/shared/fee';
import { MAX_USDC } from '../../src/shared/money';

/** `MarketParameters::DEFAULT` of the program. */
const DEFAULT: MarketParameters = {
    minPrice: 1_000n,
    disputeBond: 100_000n,
    disputeWindowS: 259_200n,
    settleGraceS: 120n,
    collateralTiers: [
        { maxPrice: 100_000n, collateral: 10_000_000n },
        { maxPrice: 1_000_000n, collateral: 50_000_000n },
        { maxPrice: 10_000_000n, collateral: 200_000_000n },
        { maxPrice: MAX_USDC, collateral: 1_000_000_000n },
    ],
    feeBps: 100,
    maxPenaltyMultiple: 20,
};

const withTier = (index: number, change: object): MarketParameters => ({
    ...DEFAULT,
    collateralTiers: DEFAULT.collateralTiers.map((tier, at) => (at === index ? { ...tier, ...change } : tier)),
});

test('the program takes its default parameters', () => {
    expect(problemsOf(DEFAULT)).toEqual({});
});

test.each([
    ['a fee at its highest', { feeBps: 500 }, []],
    ['a higher fee', { feeBps: 501 }, ['fee']],
    ['no fee, with the lowest price of all', { feeBps: 0, minPrice: 1n }, []],
    ['a price whose fee is one base unit', { minPrice: 100n }, []],
    ['a price whose fee is nothing', { minPrice: 99n }, ['minPrice']],
    ['no price', { minPrice: 0n }, ['minPrice']],
    ['a price above a million USDC', { minPrice: 1_000_000_000_001n }, ['minPrice']],
    ['the longest dispute window', { disputeWindowS: 1_209_600n }, []],
    ['a longer dispute window', { disputeWindowS: 1_209_601n }, ['disputeWindow']],
    ['a shorter dispute window', { disputeWindowS: 259_199n }, ['disputeWindow']],
    ['the longest grace', { settleGraceS: 86_400n }, []],
    ['a longer grace', { settleGraceS: 86_401n }, ['settleGrace']],
    ['no grace', { settleGraceS: 0n }, []],
    ['no bond', { disputeBond: 0n }, []],
    ['the highest bond', { disputeBond: 1_000_000n }, []],
    ['a higher bond', { disputeBond: 1_000_001n }, ['disputeBond']],
    ['no penalty', { maxPenaltyMultiple: 0 }, ['penalty']],
    ['the highest penalty', { maxPenaltyMultiple: 100 }, []],
    ['a higher penalty', { maxPenaltyMultiple: 101 }, ['penalty']],
] as const)('%s is judged as by the program', (_, change, fields) => {
    expect(Object.keys(problemsOf({ ...DEFAULT, ...change }))).toEqual(fields);
});

test('prices of tiers rise strictly, and their collateral never falls', () => {
    expect(Object.keys(problemsOf(withTier(1, { maxPrice: 100_000n })))).toEqual(['tier-1-price']);
    expect(Object.keys(problemsOf(withTier(1, { collateral: 9_999_999n })))).toEqual(['tier-1-collateral']);
    expect(problemsOf(withTier(1, { collateral: 10_000_000n }))).toEqual({});
});

const parameters = record({
    minPrice: bigInt(1n, 1_000_000_000_000n),
    disputeBond: bigInt(0n, 1_000_000n),
    disputeWindowS: bigInt(259_200n, 1_209_600n),
    settleGraceS: bigInt(0n, 86_400n),
    feeBps: integer({ min: 0, max: 500 }),
    maxPenaltyMultiple: integer({ min: 1, max: 100 }),
    steps: array(tuple(bigInt(1n, 10n ** 12n), bigInt(0n, 10n ** 12n)), { minLength: 4, maxLength: 4 }),
}).map(({ steps, ...rest }): MarketParameters => {
    let [maxPrice, collateral] = [0n, 0n];
    const collateralTiers = steps.map(([price, more], index) => {
        [maxPrice, collateral] = [index === 3 ? MAX_USDC : maxPrice + price, collateral + more];
        return { maxPrice, collateral };
    });
    return { ...rest, collateralTiers };
});

test('what the form shows is read back as it was, to the base unit', () => {
    assert(
        property(parameters, (some) => {
            const { parameters: read, problems } = readDraft(draftOf(some));
            const isRefused = some.feeBps !== 0 && splitOf(some.minPrice, some.feeBps).platform === 0n;
            expect(Object.keys(problems ?? {})).toEqual(isRefused ? ['minPrice'] : []);
            if (read !== null) expect(read).toEqual(some);
        }),
    );
});

test('two sets have differences exactly if they are not the same', () => {
    assert(
        property(parameters, parameters, (one, other) => {
            expect(sameParameters(one, one)).toBe(true);
            expect(differencesOf(one, one)).toEqual([]);
            if (!sameParameters(one, other)) expect(differencesOf(one, other).length).toBeGreaterThan(0);
        }),
    );
});

test('a difference names the old and the new value, and whom it concerns', () => {
    const [fee, tier, ...others] = differencesOf(DEFAULT, {
        ...withTier(3, { collateral: 2_000_000_000n }),
        feeBps: 150,
    });
    expect(fee).toMatchObject({ name: 'Fee', before: '1 %', after: '1.5 %' });
    expect(tier).toMatchObject({ name: 'Collateral, tier 4', before: '1\u202f000 USDC for a price above 10 USDC' });
    expect(tier?.after).toContain('2\u202f000 USDC');
    expect(others).toEqual([]);
});

test.each(['', '1.234', '-1', '1,5', '1e2', 'x', '1.', '1001'])('%j is no percentage', (text) => {
    expect(parsePercent(text)).toBeNull();
});

test('a percentage is read in basis points', () => {
    expect(['1', '1.5', '0.07', '5 %', '2.50%'].map(parsePercent)).toEqual([100, 150, 7, 500, 250]);
});

test('fields that cannot be read are named, and only they', () => {
    const draft = { ...draftOf(DEFAULT), fee: '1.234', disputeWindow: 'soon', penalty: '2.5' };
    expect(Object.keys(readDraft(draft).problems ?? {}).sort()).toEqual(['disputeWindow', 'fee', 'penalty']);
    const { problems } = readDraft({ ...draftOf(DEFAULT), minPrice: '0.0000001' });
    expect(problems?.minPrice).toContain('six decimals');
});

test('a span of time is read back to the second', () => {
    assert(property(integer({ min: 0, max: 10 ** 9 }), (seconds) => parseSpan(exactSpan(seconds)) === seconds));
    expect(['72h', '3 days', '1 h 30 min', '90 s', '2d 1 hour'].map(parseSpan)).toEqual([
        259_200, 259_200, 5_400, 90, 176_400,
    ]);
});

test.each(['', '3', 'd', '3 w', '1.5 h', '-1 h', '3 d and', '0x1 h'])('%j is no span of time', (text) => {
    expect(parseSpan(text)).toBeNull();
});
