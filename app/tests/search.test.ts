// The search of the list of agents in the URL: what is read can be written and read again, and the service accepts it.

import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';

import { parseSearch, stringifySearch } from '../src/app/search';
import { agentsQuery } from '../src/features/browse/query';
import { SORTS, readSearch, sortOf } from '../src/features/browse/search';
import { api } from '../src/shared/api/client';
import { makeQueryClient } from '../src/shared/api/queries';

const raw = fc.record(
    {
        q: fc.string({ unit: 'binary', maxLength: 300 }),
        tags: fc.oneof(
            fc.string(),
            fc.array(fc.stringMatching(/^[a-z0-9_-]{0,40}$/)).map((tags) => tags.join(',')),
        ),
        sort: fc.oneof(fc.string(), fc.constantFrom('relevance', 'trust', 'price_asc', '__proto__', 'toString')),
        max_price: fc.oneof(fc.string(), fc.constantFrom('0.5', '1e9', '-1', '0.1234567')),
        min_success_rate: fc.oneof(fc.string(), fc.constantFrom('0.95', '1', '1.1', '2')),
        min_executions: fc.oneof(fc.string(), fc.nat().map(String)),
        verified_only: fc.constantFrom('true', 'false', '1'),
        creator: fc.string(),
        other: fc.string(),
    },
    { requiredKeys: [] },
);

test('a search that was read stays the same in the URL', () => {
    fc.assert(
        fc.property(raw, (values) => {
            const search = readSearch(values);
            expect(readSearch(parseSearch(stringifySearch(search)))).toEqual(search);
        }),
    );
});

test('a search that was read is one that the service accepts', () => {
    fc.assert(
        fc.property(raw, (values) => {
            const { q, tags, sort, max_price, min_success_rate } = readSearch(values);
            expect(q === undefined || (q.length > 0 && Array.from(q).length <= 200)).toBe(true);
            expect(tags ?? 'a').toMatch(/^[a-z0-9_-]{1,32}(,[a-z0-9_-]{1,32}){0,19}$/);
            expect(sort === undefined || SORTS.includes(sort)).toBe(true);
            expect(sort === 'relevance' && q === undefined).toBe(false);
            expect(Number(max_price ?? 0)).toBeGreaterThanOrEqual(0);
            expect(Number(min_success_rate ?? 0)).toBeLessThanOrEqual(1);
        }),
    );
});

test('without a choice the list has the most trusted first, and a search its best match', () => {
    expect(sortOf({})).toBe('trust');
    expect(sortOf({ q: 'words' })).toBe('relevance');
    expect(sortOf({ q: 'words', sort: 'trust' })).toBe('trust');
    expect(sortOf({ sort: 'price_asc' })).toBe('price_asc');
});

test('the list asks the service for the order that the page shows', async () => {
    const get = vi.spyOn(api, 'GET').mockResolvedValue({ data: { agents: [] } } as never);
    const asked = async (search: object): Promise<unknown> => {
        await makeQueryClient().infiniteQuery(agentsQuery(search));
        return (get.mock.lastCall?.[1] as unknown as { params: { query: object } }).params.query;
    };
    expect(await asked({})).toMatchObject({ sort: 'trust' });
    expect(await asked({ q: 'words' })).toMatchObject({ q: 'words', sort: 'relevance' });
    get.mockRestore();
});
