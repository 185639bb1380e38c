// Days of a wallet: what it spent, and what its agents earned, on the same day.

import type { Totals, TotalsGroup } from '../../shared/api/totals';

type GroupOfDay = TotalsGroup & { readonly day: string };

/** Of sums by day every group has one. */
export const isDay = (group: TotalsGroup): group is GroupOfDay => group.day !== null;

export type WalletDay = {
    readonly day: string;
    readonly spent: TotalsGroup | null;
    readonly earned: TotalsGroup | null;
};

/** Oldest first; a day without a call is not among them. */
export function walletDays(spent: Totals | null, earned: Totals | null): WalletDay[] {
    const byDay = (totals: Totals | null) => new Map((totals?.groups ?? []).filter(isDay).map((day) => [day.day, day]));
    const [buying, selling] = [byDay(spent), byDay(earned)];
    return [...new Set([...buying.keys(), ...selling.keys()])]
        .sort()
        .map((day) => ({ day, spent: buying.get(day) ?? null, earned: selling.get(day) ?? null }));
}
