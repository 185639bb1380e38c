// Reads a creator's signed answer that somebody pastes, and checks its form ("Answer of the creator" in
// docs/specification.md). Who signed it is checked against the record on the chain.

import { type ReadonlyUint8Array, getBase58Encoder } from '@solana/kit';

import { hexOf } from '../../../chain/accounts';
import { words } from '../words';

const w = words.settle;

export type SignedAnswer = {
    readonly result: string;
    readonly resultHash: Uint8Array;
    readonly signature: ReadonlyUint8Array;
    readonly callSignature: ReadonlyUint8Array | null;
    readonly tokensUsed: number | null;
};

/** The members that are read. Others are skipped. */
type Answer = Partial<
    Record<
        'execution_id' | 'status' | 'result' | 'result_hash' | 'signature' | 'call_signature' | 'tokens_used',
        unknown
    >
>;

const SIGNATURE_BYTES = 64;
const MAX_TOKENS = 1_000_000_000;
/** The largest result of the service. */
export const MAX_RESULT_BYTES = 1024 * 1024;

/** Throws an error that says what is wrong, for the user who pasted the text. */
export async function readAnswer(text: string, executionId: string): Promise<SignedAnswer> {
    const { execution_id, status, result, result_hash, signature, call_signature, tokens_used } = parsed(text);
    if (execution_id !== undefined && execution_id !== executionId) throw new Error(w.otherExecution);
    if (status !== undefined && status !== 'completed') throw new Error(w.failure);
    if (typeof result !== 'string') throw new Error(w.noResult);
    const bytes = new TextEncoder().encode(result);
    if (bytes.length > MAX_RESULT_BYTES) throw new Error(w.resultTooLarge);
    const resultHash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    if (typeof result_hash === 'string' && result_hash !== `sha256:${hexOf(resultHash)}`) throw new Error(w.otherHash);
    return {
        result,
        resultHash,
        signature: signatureOf(signature, 'signature'),
        callSignature:
            call_signature === undefined || call_signature === null
                ? null
                : signatureOf(call_signature, 'call_signature'),
        tokensUsed: tokensOf(tokens_used),
    };
}

function parsed(text: string): Answer {
    let value: unknown;
    try {
        value = JSON.parse(text);
    } catch {
        throw new Error(w.noJson);
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(w.noObject);
    return value;
}

function signatureOf(value: unknown, name: string): ReadonlyUint8Array {
    const found = typeof value === 'string' ? /^ed25519:([1-9A-HJ-NP-Za-km-z]{64,88})$/.exec(value) : null;
    const bytes = found?.[1] === undefined ? null : getBase58Encoder().encode(found[1]);
    if (bytes?.length !== SIGNATURE_BYTES) throw new Error(w.badSignature(name));
    return bytes;
}

function tokensOf(value: unknown): number | null {
    if (value === undefined || value === null) return null;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_TOKENS) {
        throw new Error(w.badTokens);
    }
    return value;
}
