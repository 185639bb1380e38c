// The address of a record in the link to an explorer.

import type { Address } from '@solana/kit';

import type { Schemas } from '../../shared/api/client';

/** The last part of the explorer link's path that is an address. */
export function recordAddressOf({
    on_chain_record: link,
}: Pick<Schemas['ExecutionResponse'], 'on_chain_record'>): Address {
    const parts = new URL(link).pathname.split('/').reverse();
    const found = parts.find((part) => /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(part));
    if (found === undefined) throw new Error('The link to the record names no account.');
    return found as Address;
}
