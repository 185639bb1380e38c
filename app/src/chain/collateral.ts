// How much collateral a price needs, and what keeps an agent's collateral locked. The same rules as
// `required_collateral` and `check_unclaimed` of the program.

import type { AgentListed } from '../generated/accounts/agentListed';
import type { CollateralTier } from '../generated/types/collateralTier';
import { StoredAgentStatus } from './stored';

/** The tier of a price. The last one holds for every higher price. */
export function tierOf(tiers: readonly CollateralTier[], price: bigint): CollateralTier {
    const tier = tiers.find(({ maxPrice }) => price <= maxPrice) ?? tiers.at(-1);
    if (tier === undefined) throw new Error('The marketplace has no collateral tiers.');
    return tier;
}

/** The collateral of the price's tier, and at least the price. */
export function requiredCollateral(tiers: readonly CollateralTier[], price: bigint): bigint {
    const { collateral } = tierOf(tiers, price);
    return collateral > price ? collateral : price;
}

/** The highest price that the collateral is enough for; `null` if it is not enough for any. */
export function highestPrice(tiers: readonly CollateralTier[], collateral: bigint, maxPrice: bigint): bigint | null {
    let highest: bigint | null = null;
    tiers.forEach((tier, index) => {
        if (tier.collateral > collateral) return;
        const bounds = [collateral, maxPrice, ...(index === tiers.length - 1 ? [] : [tier.maxPrice])];
        const price = bounds.reduce((one, other) => (one < other ? one : other));
        if (price > 0n && (highest === null || price > highest)) highest = price;
    });
    return highest;
}

/** One thing that keeps the collateral locked. */
export type Claim =
    | { readonly kind: 'listed' }
    | { readonly kind: 'executions'; readonly count: number }
    | { readonly kind: 'disputes'; readonly count: number }
    /** `from`: the first second, by the chain's clock, in which it is free. */
    | { readonly kind: 'window'; readonly from: number };

type Claimed = Pick<AgentListed, 'status' | 'openExecutions' | 'openDisputes' | 'lastDisputeDeadlineUnixS'>;

/**
 * Everything that locks the collateral at that second of the chain's clock. If the list is empty, it can be withdrawn.
 */
export function claimsOn(listing: Claimed, now: number): Claim[] {
    const claims: Claim[] = [];
    if (listing.status !== StoredAgentStatus.Delisted) claims.push({ kind: 'listed' });
    if (listing.openExecutions > 0) claims.push({ kind: 'executions', count: listing.openExecutions });
    if (listing.openDisputes > 0) claims.push({ kind: 'disputes', count: listing.openDisputes });
    // The last second belongs to the window.
    const deadline = Number(listing.lastDisputeDeadlineUnixS);
    if (now <= deadline) claims.push({ kind: 'window', from: deadline + 1 });
    return claims;
}
