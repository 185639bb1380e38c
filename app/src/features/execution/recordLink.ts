// The address of a record in the link to an explorer.

import type { Address } from '@solana/kit';

import type { Schemas } from '../../shared/api/client';
import { addressIn } from '../../shared/explorer';

/** The last part of the explorer link's path that is an address. */
export function recordAddressOf({
    on_chain_record: link,
}: Pick<Schemas['ExecutionResponse'], 'on_chain_record'>): Address {
    const found = addressIn(link);
    if (found === null) throw new Error('The link to the record names no account.');
    return found as Address;
}
