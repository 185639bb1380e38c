// The proof of a result: what the creator signs, the check of it, and the instruction that shows it to the program.
// "Result signature" and "Call-bound signature" in docs/specification.md.

import {
    type Address,
    type Instruction,
    type ReadonlyUint8Array,
    getAddressEncoder,
    getI64Encoder,
    getPublicKeyFromAddress,
    getUtf8Encoder,
    signatureBytes,
    verifySignature,
} from '@solana/kit';

/** The chain's Ed25519 signature verification program. */
export const ED25519_PROGRAM_ADDRESS = 'Ed25519SigVerify111111111111111111111111111' as Address;

const HASH_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** One opening of an execution's record. An address can be opened again once its record is closed. */
export type OpeningId = { record: Address; openedAtUnixS: bigint };

/** What a result is signed for. `opening`: of the execution, if the call is binding. */
export type SignedResult = { resultHash: ReadonlyUint8Array; opening?: OpeningId | undefined };

function checkLength(name: string, bytes: ReadonlyUint8Array, length: number): void {
    if (bytes.length !== length) throw new RangeError(`${name} must have ${length} bytes, not ${bytes.length}`);
}

/** The text form of a result's SHA-256: `sha256:` and 64 lower-case hexadecimal digits. */
export function resultText(resultHash: ReadonlyUint8Array): string {
    checkLength('resultHash', resultHash, HASH_BYTES);
    return `sha256:${Array.from(resultHash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** The bytes that the result key signs: 71 for an unbound result, 126 for one that is bound to its call. */
export function signedMessage({ resultHash, opening }: SignedResult): Uint8Array {
    const utf8 = getUtf8Encoder();
    const text = utf8.encode(resultText(resultHash));
    if (opening === undefined) return new Uint8Array(text);
    const [record, second] = [
        getAddressEncoder().encode(opening.record),
        getI64Encoder().encode(opening.openedAtUnixS),
    ];
    const parts = [utf8.encode('crtx-call-v2:'), record, utf8.encode(':'), second, utf8.encode(':'), text];
    const message = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
        message.set(part, at);
        at += part.length;
    }
    return message;
}

/** Whether `signature` is one of `resultKey` over the result, and over its call if `opening` is given. */
export async function verifyResult(
    result: SignedResult & { resultKey: Address; signature: ReadonlyUint8Array },
): Promise<boolean> {
    checkLength('signature', result.signature, SIGNATURE_BYTES);
    const key = await getPublicKeyFromAddress(result.resultKey);
    return verifySignature(key, signatureBytes(new Uint8Array(result.signature)), signedMessage(result));
}

/** The one shape of Ed25519 instruction that the program accepts directly before `complete_execution`. */
export function getResultProofInstruction(
    result: SignedResult & { resultKey: Address; signature: ReadonlyUint8Array },
): Instruction & { data: Uint8Array } {
    checkLength('signature', result.signature, SIGNATURE_BYTES);
    const message = signedMessage(result);
    const header = [1, 0, 48, 0, 255, 255, 16, 0, 255, 255, 112, 0, message.length, 0, 255, 255];
    const key = getAddressEncoder().encode(result.resultKey);
    const data = new Uint8Array([...header, ...key, ...result.signature, ...message]);
    return { programAddress: ED25519_PROGRAM_ADDRESS, data };
}
