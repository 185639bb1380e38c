// Ed25519 with WebCrypto. Signatures are checked as strictly as the chain checks them: WebCrypto compares the recomputed
// point with the bytes of the signature, and what has more than one encoding or small order is refused before.

import { type Bytes, base58, concat, fromBase58, fromHex, hex, nodeCrypto, same, utf8 } from './bytes.js';

/** Signs as an agent: give one that asks a key management service, if the key must not be in this process. */
export type Signer = {
    /** The address of the key: base58 of its 32 public bytes. */
    readonly address: string;
    /** The 64 bytes of the Ed25519 signature over these bytes. */
    readonly sign: (message: Uint8Array) => Promise<Uint8Array>;
};

const PRIME = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
/** The constant `d` of the curve, -121665 / 121666. */
const CURVE = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
const PKCS8 = fromHex('302e020100300506032b657004220420');

/** The encodings of the points of small order, with the sign bit cleared. */
const SMALL_ORDER = new Set([
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0100000000000000000000000000000000000000000000000000000000000000',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${hex(bytes.slice().reverse())}`);

/** Whether 32 bytes are the one encoding of a number below the prime, and not that of a point of small order. */
function isStrict(point: Uint8Array): boolean {
    const y = new Uint8Array(point);
    y[31] = (y[31] ?? 0) & 0x7f;
    return numberOf(y) < PRIME && !SMALL_ORDER.has(hex(y));
}

/** Whether `key` signed the message, by the strict rules. */
export async function verifyStrictly(key: Bytes, message: Bytes, signature: Bytes): Promise<boolean> {
    if (key.length !== 32 || signature.length !== 64) return false;
    if (!isStrict(key) || !isStrict(signature.slice(0, 32)) || numberOf(signature.slice(32)) >= ORDER) return false;
    const imported = await crypto.subtle.importKey('raw', key, 'Ed25519', false, ['verify']).catch(() => null);
    return imported !== null && crypto.subtle.verify('Ed25519', imported, signature, message);
}

/** Whether 32 bytes are a point of the curve. Addresses that a program derives are not. */
export function isOnCurve(point: Uint8Array): boolean {
    const y = numberOf(point) & (2n ** 255n - 1n);
    const [u, v] = [mod(y * y - 1n), mod(CURVE * y * y + 1n)];
    // u / v is a square if u × v is one, by Euler's criterion.
    const ratio = mod(u * v);
    return ratio === 0n || power(ratio, (PRIME - 1n) / 2n) === 1n;
}

const mod = (number: bigint): bigint => ((number % PRIME) + PRIME) % PRIME;

function power(base: bigint, exponent: bigint): bigint {
    let result = 1n;
    for (let [square, rest] = [base, exponent]; rest > 0n; rest >>= 1n) {
        if (rest & 1n) result = (result * square) % PRIME;
        square = (square * square) % PRIME;
    }
    return result;
}

/**
 * A key pair: 64 numbers as the Solana command line writes them, as a JSON text or an array, or the base58 form of the 64
 * bytes.
 */
export type KeyPair = string | readonly number[] | Uint8Array;

export const signerOf = async (keyPair: KeyPair): Promise<Signer> => signerOfBytes(keyPairBytes(keyPair));

export async function signerOfBytes(bytes: Bytes): Promise<Signer> {
    const [seed, address] = [bytes.slice(0, 32), bytes.slice(32)];
    const key = await crypto.subtle.importKey('pkcs8', concat(PKCS8, seed), 'Ed25519', true, ['sign']);
    if (!same(await publicKeyOf(key), address)) throw new TypeError('the two halves of the key pair do not fit');
    const native = nodeCrypto?.createPrivateKey({
        key: Buffer.from(concat(PKCS8, seed)),
        format: 'der',
        type: 'pkcs8',
    });
    const sign = async (message: Uint8Array): Promise<Uint8Array> =>
        native === undefined
            ? new Uint8Array(await crypto.subtle.sign('Ed25519', key, new Uint8Array(message)))
            : new Uint8Array(nodeCrypto?.sign(null, message, native) ?? []);
    return { address: base58(address), sign };
}

/** The 64 bytes: 32 of the seed and 32 of the public key. */
export function keyPairBytes(keyPair: KeyPair): Bytes {
    try {
        const isText = typeof keyPair === 'string';
        const isJson = isText && keyPair.trimStart().startsWith('[');
        const numbers = isJson ? (JSON.parse(keyPair) as readonly number[]) : keyPair;
        const bytes = typeof numbers === 'string' ? fromBase58(numbers.trim().slice(0, 90)) : Uint8Array.from(numbers);
        if (bytes.length === 64) return bytes;
    } catch {
        // What cannot be read is refused like another length, without a word of it in the message.
    }
    throw new TypeError('a key pair has 64 numbers, as the Solana command line writes them');
}

type PrivateKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

async function publicKeyOf(key: PrivateKey): Promise<Bytes> {
    const { x = '' } = await crypto.subtle.exportKey('jwk', key);
    return Uint8Array.from(atob(x.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
}

const KEY_PREFIX = /^crtx_(?:live|test)_/;

/** The session public key of an API key: what the services store, and what signs openings on chain. */
export async function sessionKeyOf(apiKey: string): Promise<Bytes> {
    const prefix = KEY_PREFIX.exec(apiKey)?.[0];
    if (prefix === undefined) throw new TypeError('an API key starts with `crtx_live_` or `crtx_test_`');
    const text = apiKey.slice(prefix.length);
    const secret = text.length <= 44 ? tryBase58(text) : null;
    if (secret?.length !== 32) throw new TypeError('an API key ends with the base58 form of 32 bytes');
    const material = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits']);
    const derivation = { name: 'HKDF', hash: 'SHA-256', salt: utf8(prefix), info: utf8('crtx session key v1') };
    const seed = new Uint8Array(await crypto.subtle.deriveBits(derivation, material, 256));
    return publicKeyOf(await crypto.subtle.importKey('pkcs8', concat(PKCS8, seed), 'Ed25519', true, ['sign']));
}

function tryBase58(text: string): Bytes | null {
    try {
        return fromBase58(text);
    } catch {
        return null;
    }
}
