// The collateral of a price, the highest price of a collateral, and what locks the collateral.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import {
    claimsOn,
    highestPrice,
    missingCollateral,
    requiredCollateral,
    withdrawable,
} from '../../src/chain/collateral';
import { StoredAgentStatus } from '../../src/chain/stored';
import { byThisClock } from '../../src/features/creator/manage/Locked';
import { exactTime } from '../../src/shared/time/moments';

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
    [1n, 1, 10n * USDC],
    [USDC / 10n, 1, 10n * USDC],
    [USDC / 10n + 1n, 1, 50n * USDC],
    [USDC, 1, 50n * USDC],
    [10n * USDC, 1, 200n * USDC],
    [10n * USDC + 1n, 1, 1_000n * USDC],
    [1_000n * USDC + 1n, 1, 1_000n * USDC + 1n],
    [1_000n * USDC + 1n, 0, 1_000n * USDC + 1n],
    [USDC / 10n, 100, 10n * USDC],
    [USDC / 10n, 101, 10n * USDC + USDC / 10n],
    [USDC / 10n, 255, 25n * USDC + USDC / 2n],
])(
    'the price %d needs the collateral of its tier, and at least that of %d promised calls: %d',
    (price, cover, needed) => {
        expect(requiredCollateral(TIERS, { price, minCover: cover })).toBe(needed);
    },
);

test('what is missing is measured on what no open dispute claims', () => {
    const terms = { price: USDC / 10n, minCover: 101 };
    const missing = (collateral: bigint, disputedAmount: bigint) =>
        missingCollateral(TIERS, { ...terms, collateral, disputedAmount });
    expect(missing(10n * USDC, 0n)).toBe(USDC / 10n);
    expect(missing(11n * USDC, 0n)).toBe(0n);
    expect(missing(11n * USDC, USDC)).toBe(USDC / 10n);
    expect(missing(USDC, 2n * USDC)).toBe(10n * USDC + USDC / 10n);
});

test.each([
    [10n * USDC - 1n, null],
    [10n * USDC, USDC / 10n],
    [50n * USDC, USDC],
    [999n * USDC, 10n * USDC],
    [1_000n * USDC, 1_000n * USDC],
    [5_000_000n * USDC, MAX_PRICE],
])('the collateral %d allows at most the price %s', (collateral, price) => {
    expect(highestPrice(TIERS, collateral, 1, MAX_PRICE)).toBe(price);
});

test('a promised cover lowers the highest price', () => {
    expect(highestPrice(TIERS, 10n * USDC, 200, MAX_PRICE)).toBe(USDC / 20n);
});

test('the highest price is allowed, and no higher one is', () => {
    fc.assert(
        fc.property(
            tiers,
            fc.bigInt({ min: 0n, max: 10_000n * USDC }),
            fc.bigInt({ min: 1n, max: MAX_PRICE }),
            fc.nat(255),
            (some, collateral, other, minCover) => {
                const highest = highestPrice(some, collateral, minCover, MAX_PRICE);
                const required = (price: bigint) => requiredCollateral(some, { price, minCover });
                if (highest !== null) expect(required(highest)).toBeLessThanOrEqual(collateral);
                if (other > (highest ?? 0n)) expect(required(other)).toBeGreaterThan(collateral);
            },
        ),
    );
});

const listing = (change: object) => ({
    status: StoredAgentStatus.Delisted,
    openExecutions: 0,
    openDisputes: 0,
    lastDisputeDeadlineUnixS: 0n,
    collateral: 10n * USDC,
    slashableAmount: 0n,
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

test('an agent that was left gets back what open disputes can no longer take', () => {
    expect(withdrawable(listing({}), 1)).toBe(10n * USDC);
    const disputed = { openDisputes: 2, slashableAmount: 4n * USDC };
    expect(withdrawable(listing(disputed), 1)).toBe(6n * USDC);
    expect(claimsOn(listing(disputed), 1)).toEqual([{ kind: 'disputes', count: 2 }]);
    expect(withdrawable(listing({ openDisputes: 1, slashableAmount: 11n * USDC }), 1)).toBe(0n);
    for (const change of [
        { status: StoredAgentStatus.Paused },
        { openExecutions: 1 },
        { lastDisputeDeadlineUnixS: 1n },
    ])
        expect(withdrawable(listing({ ...disputed, ...change }), 1)).toBe(0n);
});

test('a countdown follows the clock of the chain, as far as it is another one', () => {
    expect(byThisClock(5_000, 1_000, 1_010)).toBe(5_000);
    expect(byThisClock(5_000, 1_000, 400)).toBe(4_400);
    expect(byThisClock(5_000, 1_000, 2_000)).toBe(6_000);
    expect(exactTime(0)).toBe('1970-01-01 00:00:00 UTC');
});
