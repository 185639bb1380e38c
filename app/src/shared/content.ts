// Content by its hash: the CID that follows from a SHA-256, and where this service serves it.

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
/** CIDv1, codec raw, multihash sha2-256 of 32 bytes. */
const PREFIX = [0x01, 0x55, 0x12, 0x20];

/** The CID of the bytes with this SHA-256, which may be written `sha256:…`. */
export function cidOf(sha256: string): string {
    const hex = sha256.replace(/^sha256:/, '');
    if (!/^[0-9a-f]{64}$/.test(hex)) throw new RangeError('This is no SHA-256 in hexadecimal form.');
    const bytes = [...PREFIX, ...(hex.match(/../g) ?? []).map((pair) => parseInt(pair, 16))];
    let [text, bits, length] = ['b', 0, 0];
    for (const byte of bytes) {
        bits = (bits << 8) | byte;
        length += 8;
        while (length >= 5) {
            length -= 5;
            text += BASE32[(bits >> length) & 31];
        }
        bits &= (1 << length) - 1;
    }
    return length === 0 ? text : text + BASE32[(bits << (5 - length)) & 31];
}

/** Served with `sandbox`, so it never runs as a page of this origin. */
export const contentPath = (sha256: string): string => `/ipfs/${cidOf(sha256)}`;

/** Larger than every result. */
export const MOST_CONTENT_BYTES = 8 * 1024 * 1024;
const PATIENCE_MS = 20_000;

/** Content as bytes. What is larger than a result is not read to its end. */
export async function readContent(url: string): Promise<Uint8Array<ArrayBuffer>> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await fetch(url, { cache: 'no-store', credentials: 'omit', signal });
    if (!answer.ok) throw new Error(`the answer for ${url} is ${answer.status}`);
    const reader = answer.body?.getReader();
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let length = 0;
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
        length += part.value.length;
        parts.push(part.value);
        if (length <= MOST_CONTENT_BYTES) continue;
        void reader?.cancel().catch(() => undefined);
        throw new Error('it is larger than any result');
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
}
