// Ed25519 by the strict rules: WebCrypto verifies, and keys and points of small order, under which anything can verify,
// are refused first.

import { type Address, type ReadonlyUint8Array, getAddressEncoder } from '@solana/kit';

import { type SignedResult, verifyResult } from '../../../chain/proof';
import { hasSmallOrder } from '../../../chain/smallOrder';

export async function verifyStrictly(
    result: SignedResult & { resultKey: Address; signature: ReadonlyUint8Array },
): Promise<boolean> {
    const key = getAddressEncoder().encode(result.resultKey);
    if (hasSmallOrder(key) || hasSmallOrder(result.signature.slice(0, 32))) return false;
    return verifyResult(result);
}
