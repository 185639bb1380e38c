// What a slash will do, computed before it is decided: the rules of `resolve_dispute` in the program's order, and the
// amounts that follow from them. Only integers.

import type { AgentListed } from '../../../generated/accounts/agentListed';
import type { Config } from '../../../generated/accounts/config';
import type { Dispute } from '../../../generated/accounts/dispute';
import type { ExecutionRecord } from '../../../generated/accounts/executionRecord';
import type { CollateralTier } from '../../../generated/types/collateralTier';
import { MAX_USDC } from '../../../shared/money';
import { type Covered, requiredCollateral as collateralOf } from '../../../chain/collateral';
import { StoredAgentStatus } from '../../../chain/stored';
import { words } from '../words';

const t = words.slash;

/** Everything that the rules look at. */
export type SlashFacts = {
    readonly record: Pick<ExecutionRecord, 'amount' | 'maxPenaltyMultiple'>;
    readonly agent: Pick<
        AgentListed,
        'collateral' | 'coveredAmount' | 'disputedAmount' | 'minCover' | 'price' | 'status'
    >;
    readonly dispute: Pick<Dispute, 'coveredAmount' | 'raisedAtUnixS'>;
    readonly config: Pick<Config, 'resolverSinceUnixS'> & {
        readonly parameters: { readonly collateralTiers: readonly CollateralTier[] };
    };
};

/** What a slash of this execution may take at most, whatever the collateral. */
export const limitOf = ({ record: { amount, maxPenaltyMultiple } }: SlashFacts): bigint =>
    amount * BigInt(maxPenaltyMultiple) + amount;

/** The other open disputes about the agent claim this much of its collateral. */
export const otherClaims = ({ record, agent }: SlashFacts): bigint => agent.disputedAmount - record.amount;

/** What the claims of others leave of the collateral. */
const leftByOthers = ({ agent, dispute }: SlashFacts): bigint =>
    agent.collateral - (agent.coveredAmount - dispute.coveredAmount);

const isOlderThanTerm = ({ dispute, config }: SlashFacts): boolean => dispute.raisedAtUnixS < config.resolverSinceUnixS;

/** Why the program refuses this slash; `null` if it takes it. */
export function slashProblem(slash: bigint, facts: SlashFacts): string | null {
    const { record, agent } = facts;
    const [limit, others] = [limitOf(facts), otherClaims(facts)];
    if (limit > MAX_USDC || others < 0n) return t.broken;
    if (slash > agent.collateral) return t.overCollateral(agent.collateral);
    if (slash > leftByOthers(facts)) return t.overOthers(leftByOthers(facts));
    if (slash > limit) return t.overLimit(limit);
    if (slash <= record.amount) return null;
    if (agent.collateral - slash < others) return t.penaltyLeaves(record.amount, others);
    return isOlderThanTerm(facts) ? t.beforeTerm(record.amount) : null;
}

/** The highest slash that the program takes. 0 is always possible. */
export function highestSlash(facts: SlashFacts): bigint {
    const { record, agent } = facts;
    const withoutPenalty = lower(record.amount, leftByOthers(facts));
    if (isOlderThanTerm(facts)) return withoutPenalty;
    const withPenalty = lower(limitOf(facts), agent.collateral - otherClaims(facts));
    return withPenalty > withoutPenalty ? withPenalty : withoutPenalty;
}

export type SlashPreview = {
    /** To the caller. */
    readonly compensation: bigint;
    /** To the insurance. */
    readonly penalty: bigint;
    readonly collateralBefore: bigint;
    readonly collateralAfter: bigint;
    /** What the agent needs for its terms. */
    readonly required: bigint;
    /** The agent takes calls now, and the slash pauses it. */
    readonly isPausedByIt: boolean;
};

export function previewOf(slash: bigint, facts: SlashFacts): SlashPreview {
    const { record, agent, config } = facts;
    const compensation = lower(slash, record.amount);
    const collateralAfter = agent.collateral - slash;
    const required = requiredCollateral(agent, config.parameters.collateralTiers);
    return {
        compensation,
        penalty: slash - compensation,
        collateralBefore: agent.collateral,
        collateralAfter,
        required,
        isPausedByIt: agent.status === StoredAgentStatus.Active && collateralAfter - otherClaims(facts) < required,
    };
}

/**
 * The collateral that the terms need. Without tiers no collateral is enough, so that a preview never promises too
 * much.
 */
export function requiredCollateral(terms: Covered, tiers: readonly CollateralTier[]): bigint {
    return tiers.length === 0 ? MAX_USDC : collateralOf(tiers, terms);
}

const lower = (one: bigint, other: bigint): bigint => (one < other ? one : other);
