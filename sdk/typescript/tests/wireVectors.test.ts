// The library by the vectors of the wire contract, which crates/protocol writes for every language.

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, test } from 'vitest';

import { addressBytes, base58, fromHex, hex, utf8 } from '../src/bytes.js';
import { signerOfBytes } from '../src/ed25519.js';
import {
    agent,
    baseUnits,
    callMessage,
    cidOf,
    executionIdOf,
    failureMessage,
    requestHash,
    resultHash,
    resultMessage,
    sessionKeyOf,
    signatureBytes,
    signatureText,
    splitOf,
    usdcText,
    verifyStrictly,
} from '../src/index.js';
import { parseAnswer } from '../src/money.js';
import { canonicalJson, hashBytes } from '../src/wire.js';
import { root } from './support/network.js';

const file = path.join(root, 'tests/vectors/wire.json');
const vectors: any = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
const casesOf = (name: string): any[] => vectors?.[name].cases ?? [];

/** Whether the work ends as the case says: with what it expects, or with an error. */
async function holds({ refused }: any, work: () => unknown, expected?: unknown): Promise<void> {
    const outcome = await Promise.resolve()
        .then(work)
        .then(
            (value) => ({ value }),
            (error: unknown) => ({ error }),
        );
    if (refused === undefined) expect(outcome).toEqual({ value: expected });
    else expect(outcome).toHaveProperty('error');
}

const openingOf = ({ record, opened_at_unix_s }: any) => ({ record, openedAtUnixS: BigInt(opened_at_unix_s) });

/** Of a case that the strict rules refuse: `false` is an error. */
const must = (ok: boolean): true => {
    if (!ok) throw new Error('it does not verify');
    return true;
};

const signerOfSeed = async (seed: string) => {
    const der = new Uint8Array([...fromHex('302e020100300506032b657004220420'), ...fromHex(seed)]);
    const key = await crypto.subtle.importKey('pkcs8', der, 'Ed25519', true, ['sign']);
    const { x = '' } = await crypto.subtle.exportKey('jwk', key);
    return signerOfBytes(new Uint8Array([...fromHex(seed), ...Buffer.from(x, 'base64url')]));
};

// JSON texts that `JSON.parse` reads as another value: a caller of this library gives values, not texts.
const ONLY_AS_TEXT = new Set([
    'a whole number beyond 2^53',
    'a number with more digits than a double',
    'a member twice',
    'a member twice in other spellings',
]);

describe.skipIf(vectors === null)('the wire contract', () => {
    test.each(casesOf('addresses'))('an address: $name', (one) =>
        holds(one, () => hex(addressBytes(one.text)), one.expect?.bytes_hex),
    );

    test.each(casesOf('amounts'))('an amount: $name', async (one) => {
        if (one.base_units !== undefined) expect(usdcText(BigInt(one.base_units))).toBe(one.expect.text);
        else if (one.text !== undefined) await holds(one, () => String(baseUnits(one.text)), one.expect?.base_units);
        else {
            const isBeyondDoubles = Number(one.json) > 2 ** 32 && process.version.startsWith('v20.');
            const read = () => {
                const { a_usdc } = parseAnswer(`{"a_usdc":${one.json}}`) as { a_usdc: unknown };
                if (typeof a_usdc !== 'string' || one.json.startsWith('"')) throw new Error('no amount');
                return String(baseUnits(a_usdc));
            };
            await holds(isBeyondDoubles ? { refused: 'Node.js 20' } : one, read, one.expect?.base_units);
        }
    });

    test.each(casesOf('api_keys'))('an API key: $name', (one) =>
        holds(one, async () => base58(await sessionKeyOf(one.api_key)), one.expect?.session_public_key),
    );

    test.each(casesOf('cids').filter(({ refused }) => refused === undefined))('a CID: $name', (one) => {
        expect(cidOf(`sha256:${one.expect.hash_hex}`)).toBe(one.cid);
    });

    test.each(casesOf('execution_ids'))('an execution id: $name', (one) =>
        holds(one, () => executionIdOf(one.wallet, one.idempotency_key), one.expect?.execution_id),
    );

    test.each(casesOf('hash_texts'))('a hash: $name', (one) =>
        holds(one, () => hex(hashBytes(one.text)), one.expect?.hash_hex),
    );

    test.each(casesOf('signature_texts'))('a signature: $name', (one) =>
        holds(one, () => hex(signatureBytes(one.text)), one.expect?.signature_hex),
    );

    test.each(casesOf('result_hashes'))('a result: $name', async (one) => {
        const hash = async (): Promise<unknown> => {
            const result_hash = await resultHash(one.result);
            return { cid: cidOf(result_hash), result_hash, uri: `ipfs://${cidOf(result_hash)}` };
        };
        await holds(one, hash, one.expect);
    });

    test.each(casesOf('request_hashes').filter(({ name }) => !ONLY_AS_TEXT.has(name)))(
        'a request: $name',
        async (one) => {
            const read = async (): Promise<unknown> => {
                const { task, parameters = {} } = JSON.parse(one.request);
                const hash = await requestHash(task, parameters);
                return { canonical: canonicalJson({ task, parameters }), request_hash_hex: hash.slice(7) };
            };
            await holds(one, read, one.expect);
        },
    );

    test.each(casesOf('signed_messages'))('what is signed: $name', async (one) => {
        const messages: Record<string, () => Uint8Array> = {
            result: () => resultMessage(one.result_hash),
            call: () => callMessage(openingOf(one.opening ?? one), one.result_hash),
            failure: () => failureMessage(openingOf(one.opening ?? one)),
        };
        const message = messages[one.kind]?.() ?? utf8('');
        expect(hex(message)).toBe(one.expect.message_hex);
        const signer = await signerOfSeed(one.seed_hex);
        expect(signer.address).toBe(one.result_key);
        expect(signatureText(await signer.sign(message))).toBe(one.expect.signature);
    });

    test.each(casesOf('result_proofs'))('a proof: $name', async (one) => {
        const key = addressBytes(one.result_key);
        const check = async () => {
            must(await verifyStrictly(key, resultMessage(one.result_hash), signatureBytes(one.signature)));
            if (one.opening === null) return true;
            const message = callMessage(openingOf(one.opening), one.result_hash);
            return must(await verifyStrictly(key, message, signatureBytes(one.call_signature)));
        };
        await holds(one, check, one.expect);
    });

    test.each(casesOf('failure_proofs'))('a signed failure: $name', async (one) => {
        const message = failureMessage(openingOf(one.opening));
        const check = async () =>
            must(await verifyStrictly(addressBytes(one.result_key), message, signatureBytes(one.failure_signature)));
        await holds(one, check, one.expect);
    });

    test.each(casesOf('seller_answers'))('a seller answers: $name', async (one) => {
        const handler = agent(
            (_task, _parameters, { report }) => {
                if (one.error !== undefined) throw new Error(one.error);
                report({ tokensUsed: one.tokens_used, steps: one.steps });
                return one.result;
            },
            { key: await signerOfSeed(one.seed_hex) },
        );
        const { execution_id, execution_record } = one;
        const call = {
            execution_id,
            execution_record,
            opened_at_unix_s: Number(one.opened_at_unix_s),
            timeout_seconds: 30,
            task: 't',
        };
        const answer: any = await (
            await handler(new Request('http://x/', { method: 'POST', body: JSON.stringify(call) }))
        ).json();
        const withoutNull = (value: object) =>
            Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
        expect(withoutNull(answer)).toEqual(withoutNull(one.expect));
    });

    test.each(casesOf('splits'))('a split: $name', (one) => holds(one, () => splitOf(BigInt(one.amount), one.fee_bps)));
});
