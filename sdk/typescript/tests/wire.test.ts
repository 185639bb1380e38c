// The contract on the wire, by the vectors that the program's own code writes.

import { readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, test } from 'vitest';

import { addressBytes, base58, fromBase64, fromHex, hex, same } from '../src/bytes.js';
import { isOnCurve } from '../src/ed25519.js';
import {
    baseUnits,
    callMessage,
    cidOf,
    executionIdOf,
    failureMessage,
    recordAddress,
    requestHash,
    resultHash,
    resultMessage,
    sessionKeyOf,
    signatureBytes,
    signatureText,
    signerOf,
    splitOf,
    termsHash,
    usdcText,
    verifyStrictly,
} from '../src/index.js';
import { PROGRAM_ID } from '../src/index.js';
import { parseAnswer } from '../src/money.js';
import { root } from './support/network.js';

const vectors = (name: string): any => JSON.parse(readFileSync(path.join(root, 'tests/vectors', name), 'utf8'));

test.each(vectors('proofs.json') as any[])('a proof is made and checked as on chain', async (proof) => {
    const hash = `sha256:${proof.result_hash}`;
    const opening = proof.opening && {
        record: proof.opening.record,
        openedAtUnixS: BigInt(proof.opening.opened_at_unix_s),
    };
    const message = opening === null ? resultMessage(hash) : callMessage(opening, hash);
    expect(Buffer.from(message).toString('base64')).toBe(proof.message);
    const [key, signature] = [fromBase64(proof.instruction.data).slice(16, 48), fromHex(proof.signature)];
    expect(await verifyStrictly(key, message, signature)).toBe(true);
    for (const part of [key, message, signature]) {
        part[0] = (part[0] ?? 0) ^ 1;
        expect(await verifyStrictly(key, message, signature)).toBe(false);
        part[0] ^= 1;
    }
});

test('a record has the address that the program derives', async () => {
    const { wallet, execution_id, found } = vectors('addresses.json');
    expect(await recordAddress(PROGRAM_ID, wallet, execution_id)).toBe(found.execution_record);
});

test('terms have the hash of the program', async () => {
    for (const terms of vectors('terms.json')) {
        const hash = await termsHash({
            price: BigInt(terms.price),
            timeoutSeconds: terms.timeout_seconds,
            binding: terms.binding ? 1 : 0,
            minCover: terms.min_cover,
            resultKey: addressBytes(terms.result_key),
            metadataHash: fromHex(terms.metadata_hash),
            feeBps: terms.fee_bps,
            maxPenaltyMultiple: terms.max_penalty_multiple,
            disputeWindowS: BigInt(terms.dispute_window_s),
            settleGraceS: BigInt(terms.settle_grace_s),
        });
        expect(hash).toBe(`sha256:${terms.hash}`);
    }
});

test('a price is divided as the program divides it', () => {
    const all = vectors('fees.json') as any[];
    expect(all.length).toBeGreaterThan(10);
    for (const { amount, fee_bps, creator, platform } of all) {
        expect(splitOf(BigInt(amount), fee_bps)).toEqual({ creator: BigInt(creator), platform: BigInt(platform) });
    }
});

describe('signatures', () => {
    const identity = fromHex(`01${'00'.repeat(31)}`);
    const zeros = new Uint8Array(32);

    test('a key of small order signs nothing', async () => {
        const signature = new Uint8Array([...identity, ...zeros]);
        for (const key of [identity, zeros]) expect(await verifyStrictly(key, zeros, signature)).toBe(false);
    });

    test('a signature with a second encoding is refused', async () => {
        const signer = await signerOf(await newKeyPair());
        const message = new TextEncoder().encode('text');
        const signature = new Uint8Array(await signer.sign(message));
        const key = addressBytes(signer.address);
        expect(await verifyStrictly(key, message, signature)).toBe(true);
        const order = 2n ** 252n + 27742317777372353535851937790883648493n;
        let s = order + BigInt(`0x${hex(signature.slice(32).reverse())}`);
        const malleable = signature.slice();
        for (let at = 32; at < 64; at += 1, s >>= 8n) malleable[at] = Number(s & 255n);
        expect(await verifyStrictly(key, message, malleable)).toBe(false);
    });

    test('a point of the curve is told from a derived address', async () => {
        const { address } = await signerOf(await newKeyPair());
        expect(isOnCurve(addressBytes(address))).toBe(true);
        expect(isOnCurve(addressBytes('AcCMTbmETbVYh5qXuH7HFnEFdTKRF3nZrN8DwuJ8MAD6'))).toBe(false);
    });

    test('other forms of a signature are refused', () => {
        const good = signatureText(new Uint8Array(64).fill(7));
        expect(same(signatureBytes(good), new Uint8Array(64).fill(7))).toBe(true);
        const bad = ['', 'ed25519:', 'ed25519:0OIl', 'ed25519:111', good.slice(8), good.toUpperCase(), `${good}1`];
        for (const text of [...bad, `ed25519:${'1'.repeat(10_000)}`])
            expect(() => signatureBytes(text), text).toThrow(TypeError);
    });
});

test('messages begin with what they are about', async () => {
    const opening = { record: '3tjG7821ySm1YQoAAUAS6D2Qne5wVgUXQu51M2DLD7pf', openedAtUnixS: 258 };
    const hash = await resultHash('');
    expect(hash).toBe('sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(callMessage(opening, hash)).toHaveLength(126);
    expect(hex(failureMessage(opening).slice(-8))).toBe('0201000000000000');
    expect(failureMessage(opening)).toHaveLength(57);
    for (const bad of [hash.toUpperCase(), hash.slice(7), `${hash}0`, ''])
        expect(() => resultMessage(bad)).toThrow(TypeError);
    await expect(resultHash('half \ud800')).rejects.toThrow(TypeError);
    expect(cidOf(await resultHash('hello world'))).toBe('bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e');
});

test('the hash of a request is that of its canonical text', async () => {
    expect(await requestHash('hi')).toBe(await resultHash('{"parameters":{},"task":"hi"}'));
    expect(await requestHash('t', { b: 1, a: 'A', c: -0, d: [1e21, { z: null, y: undefined }] })).toBe(
        await resultHash('{"parameters":{"a":"A","b":1,"c":0,"d":[1e+21,{"z":null}]},"task":"t"}'),
    );
});

test('amounts are exact', () => {
    for (const [text, base] of [
        ['0.05', 50_000n],
        ['12', 12_000_000n],
        ['0.000001', 1n],
        ['18446744073709.551615', 2n ** 64n - 1n],
    ] as const) {
        expect(baseUnits(text)).toBe(base);
        expect(usdcText(base)).toBe(text);
    }
    for (const bad of ['', '.', '1.', '.5', '-1', '1e3', '0.0000001', '18446744073709.551616', '1,0', ' 1']) {
        expect(() => baseUnits(bad), bad).toThrow(TypeError);
    }
    const read = parseAnswer(
        '{"a_usdc":1e-6,"n":[{"b_usdc":0.3,"c_usdc":null}],"steps":[{"d_usdc":1}],"e_usdc":4294967295.999999}',
    );
    expect(read).toEqual({
        a_usdc: '0.000001',
        n: [{ b_usdc: '0.3', c_usdc: null }],
        steps: [{ d_usdc: 1 }],
        e_usdc: '4294967295.999999',
    });
    for (const bad of ['1e-7', '-1', '1e14']) expect(() => parseAnswer(`{"a_usdc":${bad}}`), bad).toThrow(TypeError);
});

test('a key pair is read in each form, and a wrong one without its content in the message', async () => {
    const pair = await newKeyPair();
    const { address } = await signerOf(pair);
    for (const form of [JSON.stringify([...pair]), [...pair]]) expect((await signerOf(form)).address).toBe(address);
    const wrong = pair.slice();
    wrong[40] = (wrong[40] ?? 0) ^ 1;
    await expect(signerOf(wrong)).rejects.toThrow('do not fit');
    for (const bad of ['', '[1,2', 'secret', [1, 2, 3]])
        await expect(signerOf(bad)).rejects.toThrow(/^a key pair has 64 numbers/);
});

test('the session key and the execution id follow from key and wallet', async () => {
    const key = await sessionKeyOf('crtx_test_FQYve7fby21hhdNDyGBEFG6F2RQ7ZCREY5189uxKBoqk');
    expect(base58(key)).toBe('FycryWuCLFcDgtrpyJJSJDmAKFaw8DPpfGrCNE9DTemq');
    const wallet = 'GrSpjEc97agpReA9jkyCAvwVDoTzZxmJJjRtaCBkR24F';
    expect(await executionIdOf(wallet, 'k1')).toBe('ba87ad6d-0786-583e-889f-ad17558125f5');
    for (const bad of ['', 'crtx_test_', 'crtx_x_1', 'crtx_test_0OIl'])
        await expect(sessionKeyOf(bad)).rejects.toThrow(TypeError);
});

async function newKeyPair(): Promise<Uint8Array> {
    const { privateKey } = (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as any;
    const { d = '', x = '' } = await crypto.subtle.exportKey('jwk', privateKey);
    return new Uint8Array([...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')]);
}
