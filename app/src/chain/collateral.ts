// How much collateral an agent needs, and what keeps it locked. The same rules as `required_collateral`, `check_left` and
// `unslashable_collateral` of the program.

import type { AgentListed } from '../generated/accounts/agentListed';
import type { CollateralTier } from '../generated/types/collateralTier';
import { StoredAgentStatus } from './stored';
import { words } from './words';

/** The tier of a price. The last one holds for every higher price. */
export function tierOf(tiers: readonly CollateralTier[], price: bigint): CollateralTier {
    const tier = tiers.find(({ maxPrice }) => price <= maxPrice) ?? tiers.at(-1);
    if (tier === undefined) throw new Error(words.noTiers);
    return tier;
}

/** Terms that demand collateral. */
export type Covered = Pick<AgentListed, 'price' | 'minCover'>;

/** Calls that the collateral must be enough for: those that the creator promises, and at least one. */
const callsOf = (minCover: number): bigint => BigInt(Math.max(1, minCover));

/** The collateral of the price's tier, and at least the price of the promised calls, or of one. */
export function requiredCollateral(tiers: readonly CollateralTier[], { price, minCover }: Covered): bigint {
    return higher(tierOf(tiers, price).collateral, price * callsOf(minCover));
}

/** What no open dispute claims of the collateral. */
export const freeCollateral = ({ collateral, disputedAmount }: Pick<AgentListed, 'collateral' | 'disputedAmount'>) =>
    higher(collateral - disputedAmount, 0n);

/** What must be added before the listing can take calls on these terms. */
export const missingCollateral = (
    tiers: readonly CollateralTier[],
    listing: Covered & Pick<AgentListed, 'collateral' | 'disputedAmount'>,
): bigint => higher(requiredCollateral(tiers, listing) - freeCollateral(listing), 0n);

/** The highest price that the collateral is enough for; `null` if it is not enough for any. */
export function highestPrice(
    tiers: readonly CollateralTier[],
    collateral: bigint,
    minCover: number,
    maxPrice: bigint,
): bigint | null {
    let highest: bigint | null = null;
    tiers.forEach((tier, index) => {
        if (tier.collateral > collateral) return;
        const bounds = [
            collateral / callsOf(minCover),
            maxPrice,
            ...(index === tiers.length - 1 ? [] : [tier.maxPrice]),
        ];
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

/** Everything that locks the collateral, or a part of it, at that second of the chain's clock. */
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

/** What can be withdrawn at that second: an agent that was left keeps only what open disputes may still take. */
export function withdrawable(
    listing: Claimed & Pick<AgentListed, 'collateral' | 'slashableAmount'>,
    now: number,
): bigint {
    const isLeft = claimsOn(listing, now).every(({ kind }) => kind === 'disputes');
    return isLeft ? higher(listing.collateral - listing.slashableAmount, 0n) : 0n;
}

const higher = (one: bigint, other: bigint): bigint => (one > other ? one : other);
