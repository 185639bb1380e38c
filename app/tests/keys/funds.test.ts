// The approval that all keys share: what it must be after each change, for every set of grants.

import { type Address } from '@solana/kit';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { type Funds, approvalWith, approvalWithout, leftOf, needed, shortOf } from '../../src/features/keys/funds';
import type { SpendingGrant } from '../../src/generated/accounts/spendingGrant';
import { MAX_USDC } from '../../src/shared/money';

const NOW = 50n;

const grant = (key: string, totalCap: bigint, spent: bigint, { revoked = 0, expiresAtUnixS = 100n } = {}): SpendingGrant =>
    ({ sessionKey: key as Address, totalCap, spent, revoked, expiresAtUnixS }) as SpendingGrant;

const fundsOf = (grants: readonly SpendingGrant[], approved: bigint): Funds => ({
    grants,
    approved,
    hasAccount: true,
    holding: 0n,
    otherDelegate: null,
    now: NOW,
});

test('the same cases as the command line', () => {
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
    expect(approvalWith(funds, 'new', 40n)).toBe(410n);
    expect(approvalWith(funds, '1', 600n)).toBe(470n);
    expect(approvalWith(funds, '1', 300n)).toBe(300n);
    expect(approvalWithout(fundsOf(grants, 370n), '1')).toBe(70n);
    expect(approvalWithout(fundsOf(grants, 1_000n), '5')).toBe(930n);
    expect(approvalWithout(fundsOf(grants, 100n), '5')).toBe(100n);
});

test('the last second of a grant counts', () => {
    expect(leftOf(grant('1', 5n, 0n, { expiresAtUnixS: NOW }), NOW)).toBe(5n);
    expect(leftOf(grant('1', 5n, 0n, { expiresAtUnixS: NOW - 1n }), NOW)).toBe(0n);
});

const amounts = fc.bigInt({ min: 0n, max: MAX_USDC });
const anyFunds = fc
    .tuple(fc.array(fc.tuple(amounts, amounts, fc.boolean(), fc.boolean()), { maxLength: 6 }), amounts)
    .map(([parts, approved]) =>
        fundsOf(
            parts.map(([cap, spent, isRevoked, isExpired], index) =>
                grant(String(index), cap, spent, { revoked: isRevoked ? 1 : 0, expiresAtUnixS: isExpired ? 1n : 100n }),
            ),
            approved,
        ),
    );

test('after a grant no key is short of approval, and nothing that the owner approved is taken back', () => {
    fc.assert(
        fc.property(anyFunds, amounts, (funds, total) => {
            const approved = approvalWith(funds, 'new', total);
            const after = fundsOf([...funds.grants, grant('new', total, 0n)], approved);
            expect(shortOf(after)).toBe(0n);
            expect(approved).toBeGreaterThanOrEqual(funds.approved);
            expect(approved).toBeLessThanOrEqual(MAX_USDC);
        }),
    );
});

test('a revocation takes back at most what the key could have spent, and nothing that another key needs', () => {
    fc.assert(
        fc.property(anyFunds, (funds) => {
            const [first] = funds.grants;
            const key = first?.sessionKey ?? 'none';
            const approved = approvalWithout(funds, key);
            const freed = first === undefined ? 0n : leftOf(first, NOW);
            const others = needed(funds, key);
            expect(approved).toBeLessThanOrEqual(funds.approved);
            expect(approved).toBeGreaterThanOrEqual(funds.approved > freed ? funds.approved - freed : 0n);
            expect(approved).toBeGreaterThanOrEqual(others < funds.approved ? others : funds.approved);
        }),
    );
});
