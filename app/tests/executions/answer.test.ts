// A creator's answer that somebody pastes: what proves nothing is refused with the reason.

import { createHash } from 'node:crypto';

import { getBase58Decoder } from '@solana/kit';
import { expect, test } from 'vitest';

import { readAnswer } from '../../src/features/execution/own/answer';

const ID = '806e1eba-133b-4100-9a5e-ddbe7c578906';
const signature = `ed25519:${getBase58Decoder().decode(new Uint8Array(64).fill(9))}`;
const good = {
    execution_id: ID,
    status: 'completed',
    result: 'Grüße 🚀',
    result_hash: `sha256:${createHash('sha256').update('Grüße 🚀').digest('hex')}`,
    signature,
    call_signature: signature,
    tokens_used: 3,
};
const read = (change: object) => readAnswer(JSON.stringify({ ...good, ...change }), ID);

test('a whole answer, and the least of one', async () => {
    const answer = await read({});
    expect(Buffer.from(answer.resultHash).toString('hex')).toBe(good.result_hash.slice(7));
    expect([answer.signature.length, answer.callSignature?.length, answer.tokensUsed]).toEqual([64, 64, 3]);
    const least = await readAnswer(JSON.stringify({ result: '', signature }), ID);
    expect([least.result, least.callSignature, least.tokensUsed]).toEqual(['', null, null]);
});

test.each<[object, string]>([
    [{ execution_id: 'another' }, 'another execution'],
    [{ status: 'failed' }, 'failure'],
    [{ result: null }, 'result'],
    [{ result_hash: `sha256:${'0'.repeat(64)}` }, 'SHA-256'],
    [{ signature: null }, 'signature'],
    [{ signature: 'ed25519:1111' }, 'signature'],
    [{ signature: signature.replace('ed25519', 'x') }, 'signature'],
    [{ call_signature: 'x' }, 'call_signature'],
    [{ tokens_used: 1.5 }, 'tokens_used'],
    [{ tokens_used: -1 }, 'tokens_used'],
    [{ result: 'x'.repeat(1024 * 1024 + 1), result_hash: undefined }, '1 MiB'],
])('%o is refused', async (change, says) => {
    await expect(read(change)).rejects.toThrow(says);
});

test.each(['', 'x', '[]', 'null', '"text"', '{'])('%o is no answer', async (text) => {
    await expect(readAnswer(text, ID)).rejects.toThrow(/JSON|object/);
});
