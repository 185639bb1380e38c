// The hash of the terms that a caller agrees to: those of the listing, and those of the market. The program computes it
// when a call opens, and refuses one that names another ("Terms hash" in docs/specification.md).

import { getAddressEncoder } from '@solana/kit';

import type { AgentListed } from '../generated/accounts/agentListed';
import type { MarketParameters } from '../generated/types/marketParameters';

const DOMAIN = 'crtx-terms-v3:';
const BYTES = 116;

export type ListingTerms = Pick<
    AgentListed,
    'price' | 'timeoutSeconds' | 'binding' | 'minCover' | 'resultKey' | 'metadataHash'
>;

/** What an execution copies from the market when it opens. */
export type MarketTerms = Pick<MarketParameters, 'feeBps' | 'maxPenaltyMultiple' | 'disputeWindowS' | 'settleGraceS'>;

/** The bytes that are hashed; numbers are little-endian. */
export function termsBytes(listing: ListingTerms, market: MarketTerms): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(BYTES);
    const view = new DataView(bytes.buffer);
    bytes.set(new TextEncoder().encode(DOMAIN));
    view.setBigUint64(14, listing.price, true);
    view.setUint32(22, listing.timeoutSeconds, true);
    bytes[26] = listing.binding;
    bytes[27] = listing.minCover;
    bytes.set(getAddressEncoder().encode(listing.resultKey), 28);
    bytes.set(listing.metadataHash, 60);
    view.setUint32(92, market.feeBps, true);
    view.setUint32(96, market.maxPenaltyMultiple, true);
    view.setBigInt64(100, market.disputeWindowS, true);
    view.setBigInt64(108, market.settleGraceS, true);
    return bytes;
}

export const termsHash = async (listing: ListingTerms, market: MarketTerms): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', termsBytes(listing, market)));
