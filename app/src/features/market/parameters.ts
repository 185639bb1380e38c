// The market's parameters: their limits, which are the program's (`MarketParameters::check`), and how two sets differ.

import type { CollateralTier } from '../../generated/types/collateralTier';
import type { MarketParameters } from '../../generated/types/marketParameters';
import { MAX_FEE_BPS, percentText, smallestAmount, splitOf } from '../../shared/fee';
import { formatUsdc, MAX_USDC } from '../../shared/money';
import { exactSpan } from '../../shared/time/spans';
import { words } from './words';

const { parameters: names, effects, problems } = words;

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
    if (feeBps < 0 || feeBps > MAX_FEE_BPS) found.fee = problems.fee;
    if (minPrice < 1n || minPrice > MAX_PRICE) found.minPrice = problems.minPrice(formatUsdc(MAX_PRICE));
    else if (feeBps !== 0 && splitOf(minPrice, feeBps).platform === 0n) {
        found.minPrice = problems.minPriceFee(formatUsdc(smallestAmount(feeBps)));
    }
    if (disputeWindowS < DISPUTE_WINDOW_S.min || disputeWindowS > DISPUTE_WINDOW_S.max) {
        found.disputeWindow = problems.window;
    }
    if (disputeBond > MAX_DISPUTE_BOND) found.disputeBond = problems.bond(formatUsdc(MAX_DISPUTE_BOND));
    if (settleGraceS < 0n || settleGraceS > MAX_SETTLE_GRACE_S) found.settleGrace = problems.grace;
    if (maxPenaltyMultiple < 1 || maxPenaltyMultiple > MAX_PENALTY_MULTIPLE) found.penalty = problems.penalty;
    collateralTiers.forEach((tier, index) => {
        const before = collateralTiers[index - 1];
        if (before === undefined) return;
        if (tier.maxPrice <= before.maxPrice) found[`tier-${index}-price`] = problems.tierPrice;
        if (tier.collateral < before.collateral) found[`tier-${index}-collateral`] = problems.tierCollateral;
    });
    return found;
}

/** The prices that a tier is for. */
export function pricesText(tiers: readonly CollateralTier[], index: number): string {
    const [tier, before] = [tiers[index], tiers[index - 1]];
    const isOpen = tier === undefined || tier.maxPrice === MAX_USDC || index === tiers.length - 1;
    if (isOpen) return before === undefined ? names.everyPrice : names.above(formatUsdc(before.maxPrice));
    return names.upTo(formatUsdc(tier.maxPrice));
}

const tierText = (tiers: readonly CollateralTier[], index: number): string =>
    names.tierOf(formatUsdc(tiers[index]?.collateral ?? 0n), pricesText(tiers, index));

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
    add(names.fee, ({ feeBps }) => percentText(feeBps), effects.fee);
    add(names.minPrice, ({ minPrice }) => words.usdc(formatUsdc(minPrice)), effects.minPrice);
    add(names.window, ({ disputeWindowS }) => exactSpan(Number(disputeWindowS)), effects.window);
    add(names.bond, ({ disputeBond }) => words.usdc(formatUsdc(disputeBond)), effects.bond);
    add(names.grace, ({ settleGraceS }) => exactSpan(Number(settleGraceS)), effects.grace);
    add(names.penalty, ({ maxPenaltyMultiple }) => names.times(maxPenaltyMultiple), effects.penalty);
    for (let index = 0; index < TIERS; index += 1) {
        add(names.tier(index + 1), ({ collateralTiers }) => tierText(collateralTiers, index), effects.tier);
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
