// The limits of a key as a form has them, read and checked, and the grant that they become.

import { MoneyError, parseUsdc, usdcText } from '../../shared/money';
import { words } from './words';

const t = words.limits;

export type LimitsDraft = {
    readonly perCall: string;
    readonly total: string;
    /** Empty: a day is not limited. */
    readonly daily: string;
    /** Seconds from now; `keep`: as it is; `date`: `until`. */
    readonly lifetime: string;
    /** Of an input of the type `datetime-local`. */
    readonly until: string;
    readonly isLimited: boolean;
    readonly agents: readonly string[];
};

export type Limits = {
    readonly perCallCap: bigint;
    readonly totalCap: bigint;
    /** Of the calls of one UTC day; 0: a day is not limited. */
    readonly dailyCap: bigint;
    /** Seconds; from the moment at which the chain is read, or a moment. */
    readonly expiry: { readonly after: bigint } | { readonly at: bigint };
    readonly agents: readonly string[];
};

export type LimitsProblems = Partial<Record<'perCall' | 'total' | 'daily' | 'until' | 'agents', string>>;

export const LIFETIMES: readonly (readonly [string, keyof typeof t.lifetimes])[] = [
    ['86400', 'day'],
    ['604800', 'week'],
    ['2592000', 'month'],
    ['7776000', 'quarter'],
    ['31536000', 'year'],
];
/** As long as `crtx key create` lets a key live. */
const LONGEST_S = 10 * 365 * 86_400;

export const EMPTY: LimitsDraft = {
    perCall: '',
    total: '',
    daily: '',
    lifetime: '2592000',
    until: '',
    isLimited: false,
    agents: [],
};

/** The limits, or what is wrong with them. `now`: seconds. `kept`: when the key ends as it is. */
export function readLimits(draft: LimitsDraft, now: number, kept?: bigint): Limits | LimitsProblems {
    const perCall = amountOf(draft.perCall);
    const total = amountOf(draft.total);
    const daily = draft.daily.trim() === '' ? 0n : amountOf(draft.daily);
    const problems: LimitsProblems = {};
    if (typeof perCall === 'string') problems.perCall = perCall;
    if (typeof total === 'string') problems.total = total;
    if (typeof perCall === 'bigint' && typeof total === 'bigint' && perCall > total) {
        problems.perCall = t.perCallAboveTotal;
    }
    if (typeof daily === 'string') problems.daily = daily;
    else if (typeof perCall === 'bigint' && daily > 0n && daily < perCall) {
        problems.daily = t.perDayBelowCall;
    }
    const expiry = expiryOf(draft, now, kept);
    if (typeof expiry === 'string') problems.until = expiry;
    if (draft.isLimited && draft.agents.length === 0) problems.agents = t.noAgent;
    if (
        typeof perCall === 'string' ||
        typeof total === 'string' ||
        typeof daily === 'string' ||
        typeof expiry === 'string' ||
        Object.keys(problems).length > 0
    )
        return problems;
    const agents = draft.isLimited ? draft.agents : [];
    return { perCallCap: perCall, totalCap: total, dailyCap: daily, expiry, agents };
}

export const isLimits = (read: Limits | LimitsProblems): read is Limits => 'perCallCap' in read;

function amountOf(text: string): bigint | string {
    try {
        const amount = parseUsdc(text);
        return amount > 0n ? amount : t.notZero;
    } catch (error) {
        return error instanceof MoneyError ? error.message : String(error);
    }
}

function expiryOf({ lifetime, until }: LimitsDraft, now: number, kept: bigint | undefined): Limits['expiry'] | string {
    if (lifetime === 'keep' && kept !== undefined) {
        return kept > BigInt(Math.floor(now)) ? { at: kept } : t.hasExpired;
    }
    if (lifetime !== 'date') return { after: BigInt(lifetime) };
    const moment = Math.floor(new Date(until).getTime() / 1_000);
    if (!Number.isFinite(moment)) return t.noDate;
    if (moment <= now) return t.past;
    return moment > now + LONGEST_S ? t.tooLate : { at: BigInt(moment) };
}

/** Seconds since 1970. */
export const expiresAt = ({ expiry }: Limits, now: bigint): bigint => ('at' in expiry ? expiry.at : now + expiry.after);

/** A form that shows the limits of a grant. */
export const draftOf = (
    { perCallCap, totalCap, dailyCap }: Pick<Limits, 'perCallCap' | 'totalCap' | 'dailyCap'>,
    agents: readonly string[],
): LimitsDraft => ({
    perCall: usdcText(perCallCap),
    total: usdcText(totalCap),
    daily: dailyCap === 0n ? '' : usdcText(dailyCap),
    lifetime: 'keep',
    until: '',
    isLimited: agents.length > 0,
    agents,
});
