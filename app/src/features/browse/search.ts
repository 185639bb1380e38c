// Search, filters and order of the list of agents, as they stand in the URL.

import { MoneyError, parseUsdc } from '../../shared/money';

export const SORTS = [
    'relevance',
    'trust',
    'total_executions',
    'success_rate',
    'price_asc',
    'price_desc',
    'created_at',
] as const;

export type Sort = (typeof SORTS)[number];

export type BrowseSearch = {
    q?: string;
    tags?: string;
    sort?: Sort;
    max_price?: string;
    min_success_rate?: string;
    min_executions?: string;
    verified_only?: 'true';
    creator?: string;
    /** Left out: cards. */
    view?: 'table';
};

/** The order of the list: without a choice the best match of a search, else the most trusted first. */
export const sortOf = ({ q, sort }: BrowseSearch): Sort => sort ?? (q === undefined ? 'trust' : 'relevance');

const MAX_Q = 200;
const MAX_TAGS = 20;
const TAG = /^[a-z0-9_-]{1,32}$/;

/** Reads the URL. Values that the service would refuse are left out. */
export function readSearch(raw: Record<string, unknown>): BrowseSearch {
    const text = (name: string): string => (typeof raw[name] === 'string' ? raw[name].trim() : '');
    const search: BrowseSearch = {};
    // The cut must not leave half of a surrogate pair, which has no form in a URL.
    const q = Array.from(text('q')).slice(0, MAX_Q).join('');
    if (q !== '') search.q = q;
    const tags = text('tags')
        .split(',')
        .map((tag) => tag.trim())
        .filter((tag) => TAG.test(tag));
    if (tags.length > 0) search.tags = [...new Set(tags)].slice(0, MAX_TAGS).join(',');
    const sort = SORTS.find((name) => name === text('sort'));
    if (sort !== undefined && (sort !== 'relevance' || q !== '')) search.sort = sort;
    if (isAmount(text('max_price'))) search.max_price = text('max_price');
    if (/^(0(\.\d{1,4})?|1(\.0{1,4})?)$/.test(text('min_success_rate')))
        search.min_success_rate = text('min_success_rate');
    if (/^\d{1,15}$/.test(text('min_executions'))) search.min_executions = text('min_executions');
    if (text('verified_only') === 'true') search.verified_only = 'true';
    if (/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text('creator'))) search.creator = text('creator');
    if (text('view') === 'table') search.view = 'table';
    return search;
}

function isAmount(text: string): boolean {
    try {
        return text !== '' && parseUsdc(text) >= 0n;
    } catch (error) {
        if (error instanceof MoneyError) return false;
        throw error;
    }
}

export const tagsOf = ({ tags }: BrowseSearch): string[] => (tags === undefined ? [] : tags.split(','));

/** How many filters are set; neither the text of the search nor the view is one. */
export const filterCount = ({ q: _q, sort: _sort, view: _view, ...filters }: BrowseSearch): number =>
    Object.keys(filters).length;
