// The market's parameters: their limits, which are the program's (`MarketParameters::check`), and how two sets differ.

import type { CollateralTier } from '../../generated/types/collateralTier';
import type { MarketParameters } from '../../generated/types/marketParameters';
import { MAX_FEE_BPS, percentText, smallestAmount, splitOf } from '../../shared/fee';
import { formatUsdc, MAX_USDC } from '../../shared/money';
import { exactSpan } from '../../shared/time/spans';

export type { CollateralTier, MarketParameters };

export const MAX_PRICE = 1_000_000_000_000n;
export const DISPUTE_WINDOW_S = { min: 72 * 3_600, max: 14 * 86_400 } as const;
export const MAX_SETTLE_GRACE_S = 86_400;
export const MAX_DISPUTE_BOND = 1_000_000n;
export const MAX_PENALTY_MULTIPLE = 100;
export const TIERS = 4;

/** What a field of the form is called here: `tier-0-price` is the highest price of the first tier. */
export type ParameterField =
    | 'fee'
    | 'minPrice'
    | 'disputeWindow'
    | 'disputeBond'
    | 'settleGrace'
    | 'penalty'
    | `tier-${number}-${'price' | 'collateral'}`;
export type ParameterProblems = Partial<Record<ParameterField, string>>;

/** Why the program would refuse the parameters; empty if it takes them. */
export function problemsOf(parameters: MarketParameters): ParameterProblems {
    const { feeBps, minPrice, disputeBond, disputeWindowS, settleGraceS, maxPenaltyMultiple, collateralTiers } =
        parameters;
    const found: ParameterProblems = {};
    if (feeBps < 0 || feeBps > MAX_FEE_BPS) found.fee = 'The fee is 0 to 5 percent.';
    if (minPrice < 1n || minPrice > MAX_PRICE)
        found.minPrice = `The lowest price is 0.000001 to ${formatUsdc(MAX_PRICE)} USDC.`;
    else if (feeBps !== 0 && splitOf(minPrice, feeBps).platform === 0n) {
        found.minPrice = `The fee of this price is less than 0.000001 USDC. The lowest price for this fee is ${formatUsdc(smallestAmount(feeBps))} USDC.`;
    }
    if (disputeWindowS < DISPUTE_WINDOW_S.min || disputeWindowS > DISPUTE_WINDOW_S.max) {
        found.disputeWindow = 'Disputes can be raised for 3 to 14 days.';
    }
    if (disputeBond > MAX_DISPUTE_BOND) found.disputeBond = `The bond is at most ${formatUsdc(MAX_DISPUTE_BOND)} USDC.`;
    if (settleGraceS < 0n || settleGraceS > MAX_SETTLE_GRACE_S) found.settleGrace = 'The settlement has 0 s to 1 d.';
    if (maxPenaltyMultiple < 1 || maxPenaltyMultiple > MAX_PENALTY_MULTIPLE)
        found.penalty = 'The limit is 1 to 100 times the amount paid.';
    collateralTiers.forEach((tier, index) => {
        const before = collateralTiers[index - 1];
        if (before === undefined) return;
        if (tier.maxPrice <= before.maxPrice)
            found[`tier-${index}-price`] = 'Higher than the price of the tier before.';
        if (tier.collateral < before.collateral)
            found[`tier-${index}-collateral`] = 'At least the collateral of the tier before.';
    });
    return found;
}

/** The prices that a tier is for. */
export function pricesText(tiers: readonly CollateralTier[], index: number): string {
    const [tier, before] = [tiers[index], tiers[index - 1]];
    const isOpen = tier === undefined || tier.maxPrice === MAX_USDC || index === tiers.length - 1;
    if (isOpen) return before === undefined ? 'every price' : `above ${formatUsdc(before.maxPrice)} USDC`;
    return `up to ${formatUsdc(tier.maxPrice)} USDC`;
}

const tierText = (tiers: readonly CollateralTier[], index: number): string =>
    `${formatUsdc(tiers[index]?.collateral ?? 0n)} USDC for a price ${pricesText(tiers, index)}`;

export type Difference = {
    readonly name: string;
    readonly before: string;
    readonly after: string;
    /** What the change does, and to whom. */
    readonly effect: string;
};

/** What another set of parameters changes, in words. */
export function differencesOf(before: MarketParameters, after: MarketParameters): Difference[] {
    const found: Difference[] = [];
    const add = (name: string, text: (parameters: MarketParameters) => string, effect: string): void => {
        const [old, next] = [text(before), text(after)];
        if (old !== next) found.push({ name, before: old, after: next, effect });
    };
    add(
        'Fee',
        ({ feeBps }) => percentText(feeBps),
        'Executions that are opened from then on. Their creators get the rest of the price. Open executions keep their fee.',
    );
    add(
        'Lowest price',
        ({ minPrice }) => `${formatUsdc(minPrice)} USDC`,
        'Agents with a lower price take no new calls until their creators raise it.',
    );
    add(
        'Dispute window',
        ({ disputeWindowS }) => exactSpan(Number(disputeWindowS)),
        'Executions that are opened from then on. The collateral of an agent stays locked for as long.',
    );
    add(
        'Bond of a dispute',
        ({ disputeBond }) => `${formatUsdc(disputeBond)} USDC`,
        'Disputes that are raised from then on. Open disputes keep their bond.',
    );
    add(
        'Settlement grace',
        ({ settleGraceS }) => exactSpan(Number(settleGraceS)),
        'Executions that are opened from then on: the time between an agent’s time-out and the refund.',
    );
    add(
        'Highest penalty',
        ({ maxPenaltyMultiple }) => `${maxPenaltyMultiple} times the amount paid`,
        'Disputes about executions that are opened from then on.',
    );
    for (let index = 0; index < TIERS; index += 1) {
        const effect = 'Agents that are listed, resumed or made dearer from then on. Other agents stay as they are.';
        add(`Collateral, tier ${index + 1}`, ({ collateralTiers }) => tierText(collateralTiers, index), effect);
    }
    return found;
}

export const sameParameters = (one: MarketParameters, other: MarketParameters): boolean =>
    valuesOf(one).every((value, index) => value === valuesOf(other)[index]);

const valuesOf = (parameters: MarketParameters): bigint[] => [
    BigInt(parameters.feeBps),
    parameters.minPrice,
    parameters.disputeBond,
    parameters.disputeWindowS,
    parameters.settleGraceS,
    BigInt(parameters.maxPenaltyMultiple),
    ...parameters.collateralTiers.flatMap(({ maxPrice, collateral }) => [maxPrice, collateral]),
];
