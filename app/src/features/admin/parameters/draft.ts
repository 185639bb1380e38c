// The parameters as they stand in the form: texts that a person reads and writes, and what they mean.

import { MAX_USDC, MoneyError, parseUsdc, usdcText } from '../../../shared/money';
import { exactSpan, parseSpan } from '../../../shared/time/spans';
import { type MarketParameters, type ParameterField, type ParameterProblems, TIERS, problemsOf } from '../../market';
import { words } from '../words';

/** A text for each field: the fee in percent, amounts in USDC, times such as `3 d`. */
export type Draft = Readonly<Partial<Record<ParameterField, string>>>;

const BPS_PER_PERCENT = 100;

/** The last tier holds for every higher price, so it has no price of its own. */
export function draftOf(parameters: MarketParameters): Draft {
    const draft: Partial<Record<ParameterField, string>> = {
        fee: String(parameters.feeBps / BPS_PER_PERCENT),
        minPrice: usdcText(parameters.minPrice),
        disputeBond: usdcText(parameters.disputeBond),
        disputeWindow: exactSpan(Number(parameters.disputeWindowS)),
        settleGrace: exactSpan(Number(parameters.settleGraceS)),
        penalty: String(parameters.maxPenaltyMultiple),
    };
    parameters.collateralTiers.forEach(({ maxPrice, collateral }, index) => {
        if (index < TIERS - 1) draft[`tier-${index}-price`] = usdcText(maxPrice);
        draft[`tier-${index}-collateral`] = usdcText(collateral);
    });
    return draft;
}

export type Read =
    | { readonly parameters: MarketParameters; readonly problems: null }
    | { readonly parameters: null; readonly problems: ParameterProblems };

/** What the texts mean, or what is wrong with each. */
export function readDraft(draft: Draft): Read {
    const problems: ParameterProblems = {};
    const read = <T>(field: ParameterField, parse: (text: string) => T | null, hint: string, missing: T): T => {
        try {
            const value = parse((draft[field] ?? '').trim());
            if (value !== null) return value;
            problems[field] = hint;
        } catch (error) {
            if (!(error instanceof MoneyError)) throw error;
            problems[field] = error.message;
        }
        return missing;
    };
    const amount = (field: ParameterField): bigint => read(field, parseUsdc, '', 0n);
    const span = (field: ParameterField): bigint => BigInt(read(field, parseSpan, words.draft.badTime, 0));
    const parameters: MarketParameters = {
        feeBps: read('fee', parsePercent, words.draft.badPercent, 0),
        minPrice: amount('minPrice'),
        disputeBond: amount('disputeBond'),
        disputeWindowS: span('disputeWindow'),
        settleGraceS: span('settleGrace'),
        maxPenaltyMultiple: read('penalty', parseCount, words.draft.badNumber, 0),
        collateralTiers: Array.from({ length: TIERS }, (_, index) => ({
            maxPrice: index === TIERS - 1 ? MAX_USDC : amount(`tier-${index}-price`),
            collateral: amount(`tier-${index}-collateral`),
        })),
    };
    // An unreadable text is reported before a limit: the limits are about a number that nobody wrote.
    const found = { ...problemsOf(parameters), ...problems };
    return Object.keys(found).length === 0 ? { parameters, problems: null } : { parameters: null, problems: found };
}

/** Basis points of a percentage. */
export function parsePercent(text: string): number | null {
    const found = /^(\d{1,3})(?:\.(\d{1,2}))?\s*%?$/.exec(text);
    if (found === null) return null;
    return Number(found[1]) * BPS_PER_PERCENT + Number((found[2] ?? '').padEnd(2, '0'));
}

const parseCount = (text: string): number | null => (/^\d{1,9}$/.test(text) ? Number(text) : null);
