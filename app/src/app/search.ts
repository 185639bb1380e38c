// The query part of a page's URL: plain `name=value` pairs, so that people can read and write them. Values are text;
// each route reads its own.

export type SearchText = Record<string, string>;

export const parseSearch = (text: string): SearchText => Object.fromEntries(new URLSearchParams(text));

/** Pairs without a value are left out. */
export function stringifySearch(search: Record<string, unknown>): string {
    const pairs = Object.entries(search).filter(([, value]) => value !== undefined && value !== '' && value !== false);
    const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
    return text === '' ? '' : `?${text}`;
}
