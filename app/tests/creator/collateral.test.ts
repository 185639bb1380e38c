// The collateral of a price, the highest price of a collateral, and what locks the collateral.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { claimsOn, highestPrice, requiredCollateral } from '../../src/chain/collateral';
import { StoredAgentStatus } from '../../src/chain/stored';
import { byThisClock, exactTime } from '../../src/features/creator/manage/Locked';

const USDC = 1_000_000n;
/** The tiers of docs/specification.md. */
const TIERS = [
    { maxPrice: USDC / 10n, collateral: 10n * USDC },
    { maxPrice: USDC, collateral: 50n * USDC },
    { maxPrice: 10n * USDC, collateral: 200n * USDC },
    { maxPrice: 2n ** 64n - 1n, collateral: 1_000n * USDC },
];
const MAX_PRICE = 1_000_000n * USDC;

/** Tiers as the program accepts them: prices rise, collateral never falls. */
const tiers = fc
    .array(fc.tuple(fc.bigInt({ min: 1n, max: 1_000n * USDC }), fc.bigInt({ min: 0n, max: 500n * USDC })), {
        minLength: 4,
        maxLength: 4,
    })
    .map((steps) => {
        let [maxPrice, collateral] = [0n, 0n];
        return steps.map(([rise, more]) => ({ maxPrice: (maxPrice += rise), collateral: (collateral += more) }));
    });

test.each([
    [1n, 10n * USDC],
    [USDC / 10n, 10n * USDC],
    [USDC / 10n + 1n, 50n * USDC],
    [USDC, 50n * USDC],
    [10n * USDC, 200n * USDC],
    [10n * USDC + 1n, 1_000n * USDC],
    [1_000n * USDC + 1n, 1_000n * USDC + 1n],
])('the price %d needs the collateral of its tier, and at least the price: %d', (price, needed) => {
    expect(requiredCollateral(TIERS, price)).toBe(needed);
});

test.each([
    [10n * USDC - 1n, null],
    [10n * USDC, USDC / 10n],
    [50n * USDC, USDC],
    [999n * USDC, 10n * USDC],
    [1_000n * USDC, 1_000n * USDC],
    [5_000_000n * USDC, MAX_PRICE],
])('the collateral %d allows at most the price %s', (collateral, price) => {
    expect(highestPrice(TIERS, collateral, MAX_PRICE)).toBe(price);
});

test('the highest price is allowed, and no higher one is', () => {
    fc.assert(
        fc.property(
            tiers,
            fc.bigInt({ min: 0n, max: 10_000n * USDC }),
            fc.bigInt({ min: 1n, max: MAX_PRICE }),
            (some, collateral, other) => {
                const highest = highestPrice(some, collateral, MAX_PRICE);
                if (highest !== null) expect(requiredCollateral(some, highest)).toBeLessThanOrEqual(collateral);
                if (other > (highest ?? 0n)) expect(requiredCollateral(some, other)).toBeGreaterThan(collateral);
            },
        ),
    );
});

const listing = (change: object) => ({
    status: StoredAgentStatus.Delisted,
    openExecutions: 0,
    openDisputes: 0,
    lastDisputeDeadlineUnixS: 0n,
    ...change,
});

test('everything that locks the collateral is named', () => {
    const claimed = listing({
        status: StoredAgentStatus.Active,
        openExecutions: 2,
        openDisputes: 1,
        lastDisputeDeadlineUnixS: 1_000n,
    });
    expect(claimsOn(claimed, 940)).toEqual([
        { kind: 'listed' },
        { kind: 'executions', count: 2 },
        { kind: 'disputes', count: 1 },
        { kind: 'window', from: 1_001 },
    ]);
    expect(claimsOn(listing({ status: StoredAgentStatus.Paused }), 940)).toEqual([{ kind: 'listed' }]);
});

test('the last second belongs to the window', () => {
    const windowed = listing({ lastDisputeDeadlineUnixS: 1_000n });
    expect(claimsOn(windowed, 1_000)).toHaveLength(1);
    expect(claimsOn(windowed, 1_001)).toEqual([]);
});

test('a countdown follows the clock of the chain, as far as it is another one', () => {
    expect(byThisClock(5_000, 1_000, 1_010)).toBe(5_000);
    expect(byThisClock(5_000, 1_000, 400)).toBe(4_400);
    expect(byThisClock(5_000, 1_000, 2_000)).toBe(6_000);
    expect(exactTime(0)).toBe('1970-01-01 00:00:00 UTC');
});
