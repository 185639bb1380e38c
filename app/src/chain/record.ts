// The record of an execution on the chain, and the identity that it has.

import { type Address, type ReadonlyUint8Array, type Rpc, type SolanaRpcApi } from '@solana/kit';

import {
    EXECUTION_RECORD_DISCRIMINATOR,
    type ExecutionRecord,
    getExecutionRecordDecoder,
} from '../generated/accounts/executionRecord';
import { type OpenTerms, getOpenTermsDecoder } from '../generated/types/openTerms';
import { type RawAccount, decodeOwned, readAccounts } from './accounts';

/** A record; `terms` as long as the execution is open. */
export type ChainExecution = { readonly record: ExecutionRecord; readonly terms: OpenTerms | null };

const RECORD_BYTES = getExecutionRecordDecoder().fixedSize;
const TERMS_BYTES = getOpenTermsDecoder().fixedSize;
/** Bytes of the record of an open execution, for which its opener lends the rent. */
export const OPEN_RECORD_BYTES = RECORD_BYTES + TERMS_BYTES;

export function decodeExecution(account: NonNullable<RawAccount>): ChainExecution {
    const record = decodeOwned(account, getExecutionRecordDecoder(), EXECUTION_RECORD_DISCRIMINATOR);
    const isOpen = account.data.length >= OPEN_RECORD_BYTES;
    return { record, terms: isOpen ? getOpenTermsDecoder().decode(account.data, RECORD_BYTES) : null };
}

/** `null`: there is no such account, or not any more. */
export async function readExecution(rpc: Rpc<SolanaRpcApi>, address: Address): Promise<ChainExecution | null> {
    const [account] = await readAccounts(rpc, [address]);
    return account ? decodeExecution(account) : null;
}

/** The 16 bytes of a UUID. */
export function uuidBytes(uuid: string): Uint8Array {
    const digits = uuid.replaceAll('-', '');
    if (!/^[0-9a-f]{32}$/i.test(digits)) throw new Error('This is no execution id.');
    return Uint8Array.from({ length: 16 }, (_, index) => Number.parseInt(digits.slice(2 * index, 2 * index + 2), 16));
}

/** The text of 16 bytes as a UUID. */
export function uuidText(bytes: ReadonlyUint8Array): string {
    const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return [0, 8, 12, 16, 20].map((from, index, starts) => digits.slice(from, starts[index + 1])).join('-');
}
