// The approval that all keys share: what it must be after each change, for every set of grants.

import { type Address } from '@solana/kit';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import {
    FEW_CALLS,
    type Funds,
    approvalFor,
    approvalWith,
    approvalWithout,
    callsLeft,
    isLow,
    leftOf,
    needed,
    shortOf,
} from '../../src/features/keys/funds';
import type { SpendingGrant } from '../../src/generated/accounts/spendingGrant';
import { MAX_USDC } from '../../src/shared/money';

const NOW = 50n;

const grant = (
    key: string,
    totalCap: bigint,
    spent: bigint,
    { revoked = 0, expiresAtUnixS = 100n, perCallCap = 1n } = {},
): SpendingGrant =>
    ({ sessionKey: key as Address, totalCap, spent, revoked, expiresAtUnixS, perCallCap }) as SpendingGrant;

const fundsOf = (grants: readonly SpendingGrant[], approved: bigint): Funds => ({
    grants,
    approved,
    hasAccount: true,
    holding: 0n,
    otherDelegate: null,
    now: NOW,
});

test('an approval covers what the keys may spend, and headroom', () => {
    const grants = [
        grant('1', 500n, 200n),
        grant('2', 70n, 90n),
        grant('3', 1_000n, 0n, { revoked: 1 }),
        grant('4', 1_000n, 0n, { expiresAtUnixS: 49n }),
        grant('5', 70n, 0n),
    ];
    const funds = fundsOf(grants, 300n);
    expect(needed(funds)).toBe(370n);
    expect(shortOf(funds)).toBe(70n);
    // A quarter more than what may be spent.
    expect(approvalWith(funds, 'new', 40n, 1n)).toBe(512n);
    expect(approvalWith(funds, '1', 600n, 1n)).toBe(587n);
    expect(approvalWith(funds, '1', 300n, 1n)).toBe(300n);
    // Ten calls more, at the highest price, where that is more.
    expect(approvalWith(funds, 'new', 40n, 20n)).toBe(610n);
    expect(approvalWith(funds, 'new', 40n)).toBe(810n);
    expect(approvalWithout(fundsOf(grants, 462n), '1')).toBe(87n);
    expect(approvalWithout(fundsOf(grants, 1_000n), '5')).toBe(913n);
    expect(approvalWithout(fundsOf(grants, 100n), '5')).toBe(100n);
    expect(approvalWithout(fundsOf(grants, 100n), 'unknown')).toBe(100n);
});

test('after refunds the page counts the calls that are left, and warns below ten', () => {
    const grants = [grant('1', 1_000n, 0n, { perCallCap: 10n })];
    const approved = approvalWith(fundsOf([], 0n), '1', 1_000n, 10n);
    expect(approved).toBe(1_250n);
    // Each refunded call takes its price from the approval; the key may still spend all.
    const after = (refunds: bigint): Funds => fundsOf(grants, approved - 10n * refunds);
    expect([shortOf(after(25n)), shortOf(after(26n))]).toEqual([0n, 10n]);
    expect([callsLeft(after(0n)), callsLeft(after(115n)), callsLeft(after(116n)), callsLeft(after(125n))]).toEqual([
        125n,
        10n,
        9n,
        0n,
    ]);
    expect([isLow(after(0n)), isLow(after(115n)), isLow(after(116n)), isLow(after(125n))]).toEqual([
        false,
        false,
        true,
        true,
    ]);
});

test('a key whose one call may take all of it has room for ten refunds, and is not warned about before', () => {
    const grants = [grant('1', 500n, 0n, { perCallCap: 500n })];
    const approved = approvalWith(fundsOf([], 0n), '1', 500n, 500n);
    expect([approved, callsLeft(fundsOf(grants, approved)), isLow(fundsOf(grants, approved))]).toEqual([
        5_500n,
        11n,
        false,
    ]);
});

test('no key that can pay, no calls to count, and nothing to warn about', () => {
    const grants = [grant('1', 500n, 500n), grant('2', 500n, 0n, { revoked: 1 })];
    expect([callsLeft(fundsOf(grants, 0n)), isLow(fundsOf(grants, 0n))]).toEqual([null, false]);
    expect(approvalWithout(fundsOf(grants, 40n), '1')).toBe(0n);
});

test('the last second of a grant counts', () => {
    expect(leftOf(grant('1', 5n, 0n, { expiresAtUnixS: NOW }), NOW)).toBe(5n);
    expect(leftOf(grant('1', 5n, 0n, { expiresAtUnixS: NOW - 1n }), NOW)).toBe(0n);
});

const amounts = fc.bigInt({ min: 0n, max: MAX_USDC });
const anyFunds = fc
    .tuple(fc.array(fc.tuple(amounts, amounts, fc.boolean(), fc.boolean(), amounts), { maxLength: 6 }), amounts)
    .map(([parts, approved]) =>
        fundsOf(
            parts.map(([cap, spent, isRevoked, isExpired, perCallCap], index) =>
                grant(String(index), cap, spent, {
                    revoked: isRevoked ? 1 : 0,
                    expiresAtUnixS: isExpired ? 1n : 100n,
                    perCallCap,
                }),
            ),
            approved,
        ),
    );

test('after a grant no key is short of approval, ten calls can be refunded, and nothing that the owner approved is taken back', () => {
    fc.assert(
        fc.property(anyFunds, amounts, amounts, (funds, total, perCallCap) => {
            const approved = approvalWith(funds, 'new', total, perCallCap);
            const after = fundsOf([...funds.grants, grant('new', total, 0n, { perCallCap })], approved);
            expect(shortOf(after)).toBe(0n);
            expect(isLow(after)).toBe(false);
            expect(approved < MAX_USDC && (callsLeft(after) ?? FEW_CALLS) < FEW_CALLS).toBe(false);
            expect(approved).toBeGreaterThanOrEqual(funds.approved);
            expect(approved).toBeLessThanOrEqual(MAX_USDC);
        }),
    );
});

test('a revocation takes back at most what the key could have taken, nothing that another key needs, and all without other keys', () => {
    fc.assert(
        fc.property(anyFunds, (funds) => {
            const [first] = funds.grants;
            const key = first?.sessionKey ?? 'none';
            const approved = approvalWithout(funds, key);
            expect(approved).toBeLessThanOrEqual(funds.approved);
            const others = needed(funds, key);
            if (first === undefined || others === 0n) {
                expect(approved).toBe(first === undefined ? funds.approved : 0n);
                return;
            }
            const freed = approvalFor(fundsOf([first], 0n));
            expect(approved).toBeGreaterThanOrEqual(funds.approved > freed ? funds.approved - freed : 0n);
            const kept = approvalFor(fundsOf(funds.grants.slice(1), 0n));
            expect(approved).toBeGreaterThanOrEqual(kept < funds.approved ? kept : funds.approved);
        }),
    );
});
