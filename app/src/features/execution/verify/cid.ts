// Content addresses: CID version 1, codec raw, SHA-256, in lower-case base32 ("Content addressing" in
// docs/specification.md). Hash and CID follow from each other.

import type { ReadonlyUint8Array } from '@solana/kit';

const PREFIX = [0x01, 0x55, 0x12, 0x20];
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

export function cidOf(sha256: ReadonlyUint8Array): string {
    let [text, bits, value] = ['b', 0, 0];
    for (const byte of [...PREFIX, ...sha256]) {
        value = (value << 8) | byte;
        bits += 8;
        while (bits >= 5) {
            bits -= 5;
            text += ALPHABET[(value >> bits) & 31] ?? '';
        }
        value &= (1 << bits) - 1;
    }
    return bits > 0 ? text + (ALPHABET[(value << (5 - bits)) & 31] ?? '') : text;
}
