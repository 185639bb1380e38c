// The preview of a slash against the rules of `resolve_dispute`, written down here a second time in the order and with
// the checked arithmetic of programs/agent-marketplace/src/instructions/resolve_dispute.rs.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { StoredAgentStatus } from '../../src/chain/stored';
import {
    type SlashFacts,
    highestSlash,
    previewOf,
    requiredCollateral,
    slashProblem,
} from '../../src/features/disputes/chain/slash';
import { MAX_USDC } from '../../src/shared/money';

class Refused extends Error {}

const ensure = (holds: boolean): void => {
    if (!holds) throw new Refused();
};

const u64 = (value: bigint): bigint => {
    ensure(value >= 0n && value <= MAX_USDC);
    return value;
};

/** What the program moves and writes, or `null` if it refuses. */
function byProgram(slash: bigint, { record, agent, dispute, config }: SlashFacts) {
    try {
        ensure(slash <= agent.collateral);
        ensure(slash <= u64(agent.collateral - agent.coveredAmount) + dispute.coveredAmount);
        const isPenalty = slash > record.amount;
        ensure(slash <= u64(u64(record.amount * BigInt(record.maxPenaltyMultiple)) + record.amount));
        const others = u64(agent.disputedAmount - record.amount);
        const left = u64(agent.collateral - slash);
        ensure(!isPenalty || left >= others);
        ensure(!isPenalty || dispute.raisedAtUnixS >= config.resolverSinceUnixS);
    } catch (error) {
        if (error instanceof Refused) return null;
        throw error;
    }
    const compensation = slash < record.amount ? slash : record.amount;
    return { compensation, penalty: slash - compensation, collateral: agent.collateral - slash };
}

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);

/** The dispute is the first, or the last of all that claim the collateral. */
function claims<More>(amount: bigint, others: bigint, collateral: bigint, isFirst: boolean, more: More) {
    const ofOthers = least(others, isFirst ? collateral - least(amount, collateral) : collateral);
    const own = least(amount, collateral - ofOthers);
    return {
        agent: { collateral, disputedAmount: amount + others, coveredAmount: own + ofOthers, ...more },
        dispute: { raisedAtUnixS: 1_790_000_000n, coveredAmount: own },
    };
}

const amount = fc.oneof(fc.bigInt({ min: 1_000n, max: 10n ** 12n }), fc.bigInt({ min: 1n, max: 100n }));
/** Also those at which a rule begins or ends. */
const facts: fc.Arbitrary<SlashFacts> = fc
    .record({
        amount,
        multiple: fc.nat(20),
        others: fc.oneof(fc.constant(0n), amount),
        collateral: fc.oneof(fc.constant(0n), amount, fc.bigInt({ min: 0n, max: 30n * 10n ** 12n })),
        price: amount,
        minCover: fc.nat(255),
        status: fc.constantFrom(...Object.values(StoredAgentStatus)),
        term: fc.integer({ min: -2, max: 2 }),
        isFirst: fc.boolean(),
        tiers: fc.array(fc.record({ maxPrice: amount, collateral: amount }), { minLength: 1, maxLength: 4 }),
    })
    .map(({ amount, multiple, others, collateral, price, minCover, status, term, isFirst, tiers }) => ({
        record: { amount, maxPenaltyMultiple: multiple },
        ...claims(amount, others, collateral, isFirst, { price, minCover, status }),
        config: { resolverSinceUnixS: 1_790_000_000n + BigInt(term), parameters: { collateralTiers: tiers } },
    }));
const slashes = fc.oneof(amount, fc.bigInt({ min: 0n, max: 40n * 10n ** 12n }), fc.constant(0n));

test('the page refuses exactly the slashes that the program refuses', () => {
    fc.assert(
        fc.property(facts, slashes, (facts, slash) => {
            expect(slashProblem(slash, facts) === null).toBe(byProgram(slash, facts) !== null);
        }),
        { numRuns: 2_000 },
    );
});

test('the highest slash is taken, and one base unit more is not', () => {
    fc.assert(
        fc.property(facts, (facts) => {
            const highest = highestSlash(facts);
            expect(byProgram(highest, facts)).not.toBeNull();
            expect(byProgram(highest + 1n, facts)).toBeNull();
        }),
        { numRuns: 2_000 },
    );
});

test('the preview shows what the program moves, to the base unit', () => {
    fc.assert(
        fc.property(facts, slashes, (facts, slash) => {
            const moved = byProgram(slash, facts);
            if (moved === null) return;
            const { compensation, penalty, collateralAfter, required, isPausedByIt } = previewOf(slash, facts);
            expect(required).toBeGreaterThanOrEqual(facts.agent.price * BigInt(facts.agent.minCover));
            expect({ compensation, penalty, collateral: collateralAfter }).toEqual(moved);
            expect(compensation + penalty).toBe(slash);
            const free = moved.collateral - (facts.agent.disputedAmount - facts.record.amount);
            expect(isPausedByIt).toBe(facts.agent.status === StoredAgentStatus.Active && free < required);
        }),
        { numRuns: 2_000 },
    );
});

test('the needed collateral is that of the first tier that takes the price, else of the last, and at least the price', () => {
    const tiers = [
        { maxPrice: 10n, collateral: 100n },
        { maxPrice: 1_000n, collateral: 500n },
    ];
    const found = [1n, 10n, 11n, 1_000n, 1_001n].map((price) => requiredCollateral({ price, minCover: 1 }, tiers));
    expect(found).toEqual([100n, 100n, 500n, 1_000n, 1_001n]);
    expect(requiredCollateral({ price: 1n, minCover: 1 }, [])).toBe(MAX_USDC);
});
