// The contract on the wire: hashes, messages that are signed, ids and addresses. tests/vectors/wire.json of the
// repository has values of each.

import {
    type Bytes,
    addressBytes,
    base32,
    base58,
    concat,
    fromBase58,
    fromHex,
    hex,
    sha256,
    utf8,
    uuidBytes,
    uuidText,
} from './bytes.js';
import { isOnCurve } from './ed25519.js';

/** Largest result, in bytes of UTF-8. */
export const MAX_RESULT_BYTES = 1024 * 1024;

/** One opening of an execution's record on chain. */
export type Opening = {
    /** Address of the record. */
    readonly record: string;
    /** The second in which it was opened, by the chain's clock. */
    readonly openedAtUnixS: number | bigint;
};

/** `sha256:` and the hexadecimal SHA-256 of a result's UTF-8 bytes. A text that has no UTF-8 form is refused. */
export async function resultHash(result: string): Promise<string> {
    if (!isWellFormed(result)) throw new TypeError('the result has half of a surrogate pair: it is not Unicode text');
    return hashText(await sha256(utf8(result)));
}

export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

export const hashText = (hash: Uint8Array): string => `sha256:${hex(hash)}`;

/** The 32 bytes of a hash's text. */
export function hashBytes(text: string): Bytes {
    const digits = /^sha256:([0-9a-f]{64})$/.exec(text)?.[1];
    if (digits === undefined) throw new TypeError('a hash is `sha256:` and 64 lower-case hexadecimal digits');
    return fromHex(digits);
}

export const signatureText = (signature: Uint8Array): string => `ed25519:${base58(signature)}`;

/** The 64 bytes of a signature's text. */
export function signatureBytes(text: string): Bytes {
    const digits = /^ed25519:([1-9A-HJ-NP-Za-km-z]{1,88})$/.exec(text)?.[1];
    const bytes = digits === undefined ? undefined : fromBase58(digits);
    if (bytes?.length !== 64) throw new TypeError('a signature is `ed25519:` and the base58 form of 64 bytes');
    return bytes;
}

function openingBytes({ record, openedAtUnixS }: Opening): Bytes {
    const second = new DataView(new ArrayBuffer(8));
    second.setBigInt64(0, BigInt(openedAtUnixS), true);
    return concat(addressBytes(record), utf8(':'), new Uint8Array(second.buffer));
}

/** What an agent signs of a result: the text of its hash. */
export const resultMessage = (hash: string): Bytes => utf8(hashText(hashBytes(hash)));

/** What an agent signs of a result for one call. */
export const callMessage = (opening: Opening, hash: string): Bytes =>
    concat(utf8('crtx-call-v2:'), openingBytes(opening), utf8(':'), resultMessage(hash));

/** What an agent signs to say that it failed in one call. */
export const failureMessage = (opening: Opening): Bytes => concat(utf8('crtx-failure-v1:'), openingBytes(opening));

/** The RFC 8785 form of a JSON value. */
export function canonicalJson(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
    if (typeof value === 'object' && value !== null) {
        const members = Object.entries(value).filter(([, member]) => member !== undefined);
        members.sort(([a], [b]) => (a < b ? -1 : 1));
        return `{${members.map(([name, member]) => `${jsonText(name)}:${canonicalJson(member)}`).join(',')}}`;
    }
    return jsonText(value);
}

function jsonText(value: unknown): string {
    if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError('NaN and Infinity are no JSON');
    if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) > 2 ** 53 && Math.abs(value) < 1e21) {
        throw new TypeError('a whole number beyond 2^53 would be changed when it is read; send it as text');
    }
    if (typeof value === 'string' && !isWellFormed(value)) throw new TypeError('a text has half of a surrogate pair');
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) throw new TypeError(`${typeof value} is no JSON`);
    return text;
}

/** The hash of what a caller asks for. The opening on chain has it. */
export const requestHash = async (task: string, parameters: Record<string, unknown> = {}): Promise<string> =>
    hashText(await sha256(utf8(canonicalJson({ parameters: plain(parameters), task }))));

/** The value as JSON carries it: a date is its text, for example. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value, refuseInexact));

function refuseInexact(_name: string, value: unknown): unknown {
    if (typeof value === 'number') jsonText(value);
    return value;
}

const NAMESPACE = uuidBytes('63727478-2d69-4465-8d70-6f74656e6379');

/** The execution id of a call: it follows from the wallet that pays and the idempotency key. */
export async function executionIdOf(wallet: string, idempotencyKey: string): Promise<string> {
    checkIdempotencyKey(idempotencyKey);
    const name = concat(NAMESPACE, addressBytes(wallet), utf8(idempotencyKey));
    const id = new Uint8Array(await crypto.subtle.digest('SHA-1', name)).slice(0, 16);
    id[6] = ((id[6] ?? 0) & 0x0f) | 0x50;
    id[8] = ((id[8] ?? 0) & 0x3f) | 0x80;
    return uuidText(id);
}

export function checkIdempotencyKey(key: string): void {
    if (!/^[!-~]{1,255}$/.test(key)) throw new TypeError('an idempotency key is 1 to 255 visible ASCII characters');
}

/** The content address of a result: CID version 1, codec raw, SHA-256. */
export const cidOf = (hash: string): string =>
    `b${base32(concat(Uint8Array.of(0x01, 0x55, 0x12, 0x20), hashBytes(hash)))}`;

/** An address that a program derives from seeds. */
export async function derivedAddress(programId: string, ...seeds: readonly Uint8Array[]): Promise<string> {
    for (let bump = 255; bump >= 0; bump -= 1) {
        const end = concat(Uint8Array.of(bump), addressBytes(programId), utf8('ProgramDerivedAddress'));
        const address = await sha256(concat(...seeds, end));
        if (!isOnCurve(address)) return base58(address);
    }
    throw new Error('these seeds have no address');
}

/** The address of an execution's record. */
export const recordAddress = async (programId: string, wallet: string, executionId: string): Promise<string> =>
    derivedAddress(programId, utf8('execution'), addressBytes(wallet), uuidBytes(executionId));

/** How a price is divided: the marketplace's part is rounded down, the creator gets the rest. In base units. */
export function splitOf(amount: bigint, feeBps: number): { creator: bigint; platform: bigint } {
    if (feeBps > 10_000) throw new TypeError('a fee is at most 10 000 basis points');
    const platform = (amount * BigInt(feeBps)) / 10_000n;
    return { creator: amount - platform, platform };
}

/** What a caller agrees to at an opening: the terms of the listing and of the market. Times in seconds, the price in base units. */
export type Terms = {
    readonly price: bigint;
    readonly timeoutSeconds: number;
    readonly binding: number;
    readonly minCover: number;
    readonly resultKey: Uint8Array;
    readonly metadataHash: Uint8Array;
    readonly feeBps: number;
    readonly maxPenaltyMultiple: number;
    readonly disputeWindowS: bigint;
    readonly settleGraceS: bigint;
};

export async function termsHash(terms: Terms): Promise<string> {
    const bytes = new Uint8Array(116);
    const view = new DataView(bytes.buffer);
    bytes.set(utf8('crtx-terms-v3:'));
    view.setBigUint64(14, terms.price, true);
    view.setUint32(22, terms.timeoutSeconds, true);
    bytes[26] = terms.binding;
    bytes[27] = terms.minCover;
    bytes.set(terms.resultKey, 28);
    bytes.set(terms.metadataHash, 60);
    view.setUint32(92, terms.feeBps, true);
    view.setUint32(96, terms.maxPenaltyMultiple, true);
    view.setBigInt64(100, terms.disputeWindowS, true);
    view.setBigInt64(108, terms.settleGraceS, true);
    return hashText(await sha256(bytes));
}
