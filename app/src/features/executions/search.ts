// Filters of the list of executions, as they stand in the URL.

export const STATUSES = ['pending', 'running', 'completed', 'failed', 'disputed'] as const;

export type Status = (typeof STATUSES)[number];

export type ExecutionsSearch = {
    /** Left out: the wallet as a caller. */
    role?: 'creator';
    status?: Status;
    agent_id?: string;
    /** ISO 8601, as the service reads it. */
    from?: string;
    to?: string;
};

const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** Reads the URL. What the service would refuse is left out. */
export function readSearch(raw: Record<string, unknown>): ExecutionsSearch {
    const text = (name: string): string => (typeof raw[name] === 'string' ? raw[name].trim() : '');
    const search: ExecutionsSearch = {};
    if (text('role') === 'creator') search.role = 'creator';
    const status = STATUSES.find((name) => name === text('status'));
    if (status !== undefined) search.status = status;
    if (/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text('agent_id'))) search.agent_id = text('agent_id');
    const [from, to] = [momentOf(text('from')), momentOf(text('to'))];
    if (from !== undefined) search.from = from;
    if (to !== undefined) search.to = to;
    return search;
}

/** How many filters are set; the role is not one. */
export const filterCount = ({ role: _role, ...filters }: ExecutionsSearch): number => Object.keys(filters).length;

/** In the form with seconds and an offset. A time without an offset is UTC, and a date is its midnight in UTC. */
function momentOf(text: string): string | undefined {
    if (!MOMENT.test(text)) return undefined;
    const isDate = text.length === 10;
    const hasOffset = /(Z|[+-]\d{2}:\d{2})$/.test(text) && !isDate;
    const date = new Date(isDate ? `${text}T00:00:00Z` : hasOffset ? text : `${text}Z`);
    return Number.isNaN(date.getTime()) ? undefined : `${date.toISOString().slice(0, 19)}Z`;
}

/** The moment in the form of an input of the type `datetime-local`, in the reader's time zone. */
export function localText(moment: string | undefined): string {
    if (moment === undefined) return '';
    const date = new Date(moment);
    const two = (part: number): string => String(part).padStart(2, '0');
    const [year, month, day] = [
        String(date.getFullYear()).padStart(4, '0'),
        two(date.getMonth() + 1),
        two(date.getDate()),
    ];
    const seconds = date.getSeconds() === 0 ? '' : `:${two(date.getSeconds())}`;
    return `${year}-${month}-${day}T${two(date.getHours())}:${two(date.getMinutes())}${seconds}`;
}

/** The reverse of `localText`. `undefined`: the input is empty or not complete. */
export function momentOfLocal(text: string): string | undefined {
    const date = new Date(text);
    return text === '' || Number.isNaN(date.getTime()) ? undefined : momentOf(date.toISOString());
}
