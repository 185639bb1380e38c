// What prevents a call, said before anything is signed.

import { expect, test } from 'vitest';

import type { CallTerms } from '../../src/features/run/call/terms';
import { obstaclesOf } from '../../src/features/run/obstacles';

const TERMS = {
    price: 10_000n,
    minPrice: 1_000n,
    minCover: 1,
    freeCollateral: 10_000n,
    termsHash: 'ab',
    genesisHash: 'G',
    isActive: true,
    isSuspended: false,
    isMarketPaused: false,
} as CallTerms;

const titles = (change: Partial<CallTerms>, shownTermsHash = 'sha256:ab'): string[] =>
    obstaclesOf({
        network: { genesis_hash: 'G' } as never,
        terms: { ...TERMS, ...change },
        shownTermsHash,
        connection: null,
        funds: undefined,
    }).map(({ title }) => title);

test('nothing prevents a call of an active agent on the terms that are shown', () => {
    expect(titles({})).toEqual([]);
});

test.each([
    [{ isMarketPaused: true }, 'The marketplace is paused'],
    [{ isSuspended: true }, 'The agent is suspended'],
    [{ isActive: false }, 'The agent is paused'],
    [{ termsHash: 'cd' }, 'The terms have just changed'],
])('%o is a reason', (change, title) => {
    expect(titles(change)).toEqual([title]);
});

test('a suspended agent is refused with who can resume it', () => {
    const [found] = obstaclesOf({
        network: { genesis_hash: 'G' } as never,
        terms: { ...TERMS, isSuspended: true },
        shownTermsHash: 'sha256:ab',
        connection: null,
        funds: undefined,
    });
    expect(found?.text).toContain('Only the admin can resume it');
});
