// The month of a statement (UTC), as it stands in the URL and as the service is asked for it.

export type StatementSearch = {
    /** `2026-11`; left out: the month that runs. */
    month?: string;
    /** Left out: as a buyer. */
    role?: 'creator';
};

/** Before this month there is no chain to read. */
export const FIRST_MONTH = '2020-01';
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

export const monthOf = (now: Date): string => now.toISOString().slice(0, 7);

/** Reads the URL. What is no month, and a month of the future, is left out. */
export function readStatementSearch({ month, role }: Record<string, unknown>, now = new Date()): StatementSearch {
    const isMonth = typeof month === 'string' && MONTH.test(month) && month >= FIRST_MONTH && month < monthOf(now);
    return { ...(isMonth && { month }), ...(role === 'creator' && { role }) };
}

export type Period = { readonly from: string; readonly to?: string };

/** From the first moment of the month to the first after it; the month that runs has no end yet. */
export function periodOf(month: string, now: Date): Period {
    const [year = 0, number = 1] = month.split('-').map(Number);
    const from = `${month}-01T00:00:00Z`;
    if (month === monthOf(now)) return { from };
    return { from, to: `${new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 19)}Z` };
}

const NAME = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** `November 2026`. */
export const monthName = (month: string): string => NAME.format(Date.parse(`${month}-01T00:00:00Z`));
