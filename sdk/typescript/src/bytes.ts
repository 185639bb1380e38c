// Bytes and their texts: hexadecimal, base58, base32, SHA-256.

/** Bytes in memory of their own, as WebCrypto takes them. */
export type Bytes = Uint8Array<ArrayBuffer>;

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

export function concat(...parts: readonly Uint8Array[]): Bytes {
    const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
        all.set(part, at);
        at += part.length;
    }
    return all;
}

export const same = (a: Uint8Array, b: Uint8Array): boolean =>
    a.length === b.length && a.every((byte, index) => byte === b[index]);

export const hex = (bytes: Uint8Array): string =>
    Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

export function fromHex(text: string): Bytes {
    if (!/^([0-9a-f]{2})*$/i.test(text)) throw new TypeError('not hexadecimal digits');
    return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function base58(bytes: Uint8Array): string {
    const zeros = bytes.findIndex((byte) => byte !== 0);
    let text = '';
    for (let number = BigInt(`0x0${hex(bytes)}`); number > 0n; number /= 58n)
        text = (BASE58[Number(number % 58n)] ?? '') + text;
    return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

/** The bytes of a base58 text. It is for texts whose length was checked: the time grows with its square. */
export function fromBase58(text: string): Bytes {
    let number = 0n;
    for (const digit of text) {
        const value = BASE58.indexOf(digit);
        if (value < 0) throw new TypeError('not base58');
        number = number * 58n + BigInt(value);
    }
    const digits = number === 0n ? '' : number.toString(16);
    const zeros = /^1*/.exec(text)?.[0].length ?? 0;
    return concat(new Uint8Array(zeros), fromHex(digits.length % 2 === 0 ? digits : `0${digits}`));
}

/** The 32 bytes of an address. */
export function addressBytes(address: string): Bytes {
    const bytes = address.length <= 44 ? fromBase58(address) : new Uint8Array();
    if (bytes.length !== 32) throw new TypeError('not an address: it must be the base58 form of 32 bytes');
    return bytes;
}

export const fromBase64 = (text: string): Bytes => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

export function base32(bytes: Uint8Array): string {
    let [text, bits, value] = ['', 0, 0];
    for (const byte of bytes) {
        value = (value << 8) | byte;
        for (bits += 8; bits >= 5; bits -= 5) text += BASE32[(value >> (bits - 5)) & 31] ?? '';
        value &= (1 << bits) - 1;
    }
    return bits > 0 ? text + (BASE32[(value << (5 - bits)) & 31] ?? '') : text;
}

type NodeCrypto = typeof import('node:crypto');

/**
 * The cryptography of Node.js, Bun and Deno, `undefined` elsewhere: WebCrypto works on another thread, which takes much longer
 * than a signature or the hash of some kilobytes.
 */
export const nodeCrypto = (
    globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }
).process?.getBuiltinModule?.('node:crypto') as NodeCrypto | undefined;

export const sha256 = async (bytes: Bytes): Promise<Bytes> =>
    new Uint8Array(
        nodeCrypto?.createHash('sha256').update(bytes).digest() ?? (await crypto.subtle.digest('SHA-256', bytes)),
    );

/** The 16 bytes of a UUID. */
export const uuidBytes = (uuid: string): Bytes => fromHex(uuid.replaceAll('-', ''));

export function uuidText(bytes: Uint8Array): string {
    const digits = hex(bytes);
    return [0, 8, 12, 16, 20].map((from, index, starts) => digits.slice(from, starts[index + 1])).join('-');
}
