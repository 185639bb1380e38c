// The terms hash against what the program's own types compute: tests/vectors/terms.json.

import { readFileSync } from 'node:fs';

import type { Address } from '@solana/kit';
import { expect, test } from 'vitest';

import { hexOf } from '../src/chain/accounts';
import { type ListingTerms, type MarketTerms, termsBytes, termsHash } from '../src/chain/terms';

type Vector = {
    price: string;
    timeout_seconds: number;
    binding: boolean;
    min_cover: number;
    result_key: string;
    metadata_hash: string;
    fee_bps: number;
    max_penalty_multiple: number;
    dispute_window_s: string;
    settle_grace_s: string;
    hash: string;
};

const vectors = JSON.parse(
    readFileSync(new URL('../../tests/vectors/terms.json', import.meta.url), 'utf8'),
) as Vector[];

const listingOf = (vector: Vector): ListingTerms => ({
    price: BigInt(vector.price),
    timeoutSeconds: vector.timeout_seconds,
    binding: vector.binding ? 1 : 0,
    minCover: vector.min_cover,
    resultKey: vector.result_key as Address,
    metadataHash: new Uint8Array(Buffer.from(vector.metadata_hash, 'hex')),
});

const marketOf = (vector: Vector): MarketTerms => ({
    feeBps: vector.fee_bps,
    maxPenaltyMultiple: vector.max_penalty_multiple,
    disputeWindowS: BigInt(vector.dispute_window_s),
    settleGraceS: BigInt(vector.settle_grace_s),
});

test.each(vectors)('the terms hash is the one of the program: $hash', async (vector) => {
    expect(hexOf(await termsHash(listingOf(vector), marketOf(vector)))).toBe(vector.hash);
});

test('every term changes the bytes', () => {
    const [vector] = vectors;
    if (vector === undefined) throw new Error('there is a vector');
    const [listing, market] = [listingOf(vector), marketOf(vector)];
    const other = 'BUGuuhPsHpk8YZrL2GctsCtXGneL1gmT5zYb7eMHZDWf' as Address;
    const changes: [Partial<ListingTerms>, Partial<MarketTerms>][] = [
        [{ price: listing.price + 1n }, {}],
        [{ timeoutSeconds: listing.timeoutSeconds + 1 }, {}],
        [{ binding: 1 - listing.binding }, {}],
        [{ minCover: listing.minCover + 1 }, {}],
        [{ resultKey: other }, {}],
        [{ metadataHash: new Uint8Array(32) }, {}],
        [{}, { feeBps: market.feeBps + 1 }],
        [{}, { maxPenaltyMultiple: market.maxPenaltyMultiple + 1 }],
        [{}, { disputeWindowS: market.disputeWindowS + 1n }],
        [{}, { settleGraceS: market.settleGraceS + 1n }],
    ];
    const texts = changes.map(([ofListing, ofMarket]) =>
        hexOf(termsBytes({ ...listing, ...ofListing }, { ...market, ...ofMarket })),
    );
    expect(new Set([hexOf(termsBytes(listing, market)), ...texts]).size).toBe(changes.length + 1);
});
