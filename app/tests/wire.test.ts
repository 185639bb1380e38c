// The wire contract, as far as the dashboard speaks it: tests/vectors/wire.json, written by
// crates/protocol/tests/wire_vectors.rs.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { type Address, getAddressEncoder, getBase58Encoder, isAddress } from '@solana/kit';
import { describe, expect, it } from 'vitest';

import { hexOf } from '../src/chain/accounts';
import { resultText, signedMessage } from '../src/chain/proof';
import { readAnswer } from '../src/features/execution/own/answer';
import { verifyStrictly } from '../src/features/execution/verify/ed25519';
import { registrationOf } from '../src/features/keys/secret';
import { requestHash } from '../src/features/run/call/request';
import { type JsonObject, canonical, checkText, isObject, readJson } from '../src/features/run/form/json';
import { cidOf } from '../src/shared/content';
import { parseAnswer } from '../src/shared/api/json';
import { parseUsdc, usdcText } from '../src/shared/money';

type Case = { name: string; refused?: string; expect?: Record<string, unknown>; [given: string]: unknown };
type Opening = { record: Address; opened_at_unix_s: string };

const wire = JSON.parse(readFileSync(new URL('../../tests/vectors/wire.json', import.meta.url), 'utf8')) as Record<
    string,
    { cases: Case[] }
>;

/** The cases of a group, without those about what the dashboard does not look at; each of these must be there. */
function casesOf(group: string, without: readonly string[] = []): Case[] {
    const { cases } = wire[group] ?? { cases: [] };
    for (const name of without) if (!cases.some((one) => one.name === name)) throw new Error(`no case “${name}”`);
    const left = cases.filter(({ name }) => !without.includes(name));
    if (left.length === 0) throw new Error(`no cases of ${group}`);
    return left;
}

const text = (value: unknown): string => {
    if (typeof value !== 'string') throw new Error(`no text: ${String(value)}`);
    return value;
};
const hex = (bytes: Iterable<number>): string => Buffer.from(Uint8Array.from(bytes)).toString('hex');
const sha256 = (content: string): Uint8Array => new Uint8Array(createHash('sha256').update(content, 'utf8').digest());
const hashBytes = (hash: unknown): Uint8Array => new Uint8Array(Buffer.from(text(hash).slice(7), 'hex'));
const openingOf = (given: unknown) => {
    if (given === null || given === undefined) return undefined;
    const { record, opened_at_unix_s } = given as Opening;
    return { record, openedAtUnixS: BigInt(opened_at_unix_s) };
};

/** What `run` makes of the case is what the case expects, or it throws where the case is refused. */
async function check(one: Case, run: () => unknown): Promise<void> {
    const made = (async () => run())();
    if (one.refused === undefined) expect(await made).toEqual(one.expect);
    else await expect(made).rejects.toThrow();
}

describe('results', () => {
    it.each(casesOf('result_hashes'))('$name', (one) =>
        check(one, () => {
            const [hash, cid] = [sha256(text(one['result'])), cidOf(hexOf(sha256(text(one['result']))))];
            return { result_hash: resultText(hash), cid, uri: `ipfs://${cid}` };
        }),
    );

    const messages = casesOf('signed_messages').filter(({ kind }) => kind !== 'failure');
    it.each(messages)('$name is signed as these bytes', ({ result_hash, opening, expect: expected }) => {
        const message = signedMessage({ resultHash: hashBytes(result_hash), opening: openingOf(opening) });
        expect(hex(message)).toBe(expected?.['message_hex']);
    });

    it.each(casesOf('result_proofs'))('$name is $expect', async (one) => {
        const bytes = (signature: unknown) => getBase58Encoder().encode(text(signature).slice('ed25519:'.length));
        const own = { resultHash: hashBytes(one['result_hash']), resultKey: text(one['result_key']) as Address };
        const opening = openingOf(one['opening']);
        const plain = await verifyStrictly({ ...own, signature: bytes(one['signature']) });
        const bound =
            opening === undefined ||
            (one['call_signature'] !== null &&
                (await verifyStrictly({ ...own, opening, signature: bytes(one['call_signature']) })));
        expect(plain && bound).toBe(one.refused === undefined);
    });

    it.each(casesOf('signature_texts'))('a signature: $name', (one) =>
        check(one, async () => {
            const { signature } = await readAnswer(JSON.stringify({ result: '', signature: one['text'] }), 'any');
            return { signature_hex: hex(signature) };
        }),
    );

    // It shows the answer of a creator to whoever settles it, and the program checks what is bound.
    const unseen = ['a bound call without a call signature', 'a member twice', 'steps that are no array'];
    it.each(casesOf('answers', unseen))('an answer: $name', async (one) => {
        const read = readAnswer(text(one['answer']), text(one['execution_id']));
        if (one.expect === undefined || 'failure' in one.expect) return expect(read).rejects.toThrow();
        const { result, resultHash, tokensUsed } = await read;
        const { steps: _, ...expected } = one.expect;
        return expect({ result, result_hash: resultText(resultHash), tokens_used: tokensUsed }).toEqual(expected);
    });
});

// The request is written again before it is sent, so a member that was given twice is sent once.
const twice = ['a member twice', 'a member twice in other spellings'];
it.each(casesOf('request_hashes', twice))('a request: $name', (one) =>
    check(one, async () => {
        const read = readJson(text(one['request']));
        if (!isObject(read)) throw new Error('no object');
        const [task, parameters] = [text(read['task']), (read['parameters'] ?? {}) as JsonObject];
        checkText(task);
        const request_hash_hex = hex(await requestHash({ task, parameters }));
        return { canonical: canonical({ parameters, task }), request_hash_hex };
    }),
);

it.each(casesOf('api_keys'))('an API key: $name', async (one) => {
    const prefix = text(one.expect?.['prefix'] ?? 'crtx_test_');
    const registration = registrationOf(text(one['api_key']), prefix, text(one['wallet']) as Address);
    if (one.expect === undefined) return expect(registration).rejects.toThrow();
    const { sessionKey, lastFour } = await registration;
    const { session_public_key, last_four } = one.expect;
    return expect({ session_public_key: sessionKey, last_four: lastFour }).toEqual({ session_public_key, last_four });
});

it.each(casesOf('addresses'))('an address: $name', (one) =>
    check(one, () => {
        const address = text(one['text']);
        if (!isAddress(address)) throw new Error('no address');
        return { bytes_hex: hex(getAddressEncoder().encode(address)) };
    }),
);

// Members that hold something else than a number are no amounts here, the service never writes -0, and an engine that does
// not show the source of a number has no exact amounts beyond 2^53.
const largest = ['18446744073709.551615', '18446744073709.551616'];
const noAmounts = ['"1"', 'null', 'true', '-0', ...largest].map((value) => `the JSON value ${value}`);
it.each(casesOf('amounts', noAmounts))('an amount: $name', (one) =>
    check(one, () => {
        if ('base_units' in one) return { text: usdcText(BigInt(text(one['base_units']))) };
        if ('text' in one) return { base_units: parseUsdc(text(one['text'])).toString() };
        const { cost_usdc } = parseAnswer(`{"cost_usdc":${text(one['json'])}}`) as { cost_usdc: bigint };
        return { base_units: cost_usdc.toString() };
    }),
);
