// Points of small order: under a key that is one, anything can verify.

import { type ReadonlyUint8Array } from '@solana/kit';

import { hexOf } from './accounts';

/** The encodings of the points of small order, with the sign bit cleared. */
const SMALL_ORDER = new Set([
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0100000000000000000000000000000000000000000000000000000000000000',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

export function hasSmallOrder(point: ReadonlyUint8Array): boolean {
    const bytes = new Uint8Array(point);
    bytes[31] = (bytes[31] ?? 0) & 0x7f;
    return SMALL_ORDER.has(hexOf(bytes));
}
