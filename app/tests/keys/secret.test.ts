// An API key that the browser makes is the key that the service and the command line understand.

import { createPrivateKey, createPublicKey, hkdfSync, verify } from 'node:crypto';

import { type Address, getAddressDecoder, getBase58Encoder } from '@solana/kit';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { makeKeyText, registrationOf, textOf } from '../../src/features/keys/secret';
import { AGENT_MARKETPLACE_PROGRAM_ADDRESS } from '../../src/generated/programs';

const WALLET = '4LWe7yJS7sgcZSnGtPgo6XMby8omoqrZPM1Hj7B8bQj7' as Address;
const PREFIXES = ['crtx_live_', 'crtx_test_'] as const;

/** The derivation of the specification, by another implementation: HKDF, then an Ed25519 key in PKCS 8. */
function publicKeyOf(prefix: string, secret: Uint8Array) {
    const seed = Buffer.from(hkdfSync('sha256', secret, prefix, 'crtx session key v1', 32));
    const key = createPrivateKey({
        key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
        format: 'der',
        type: 'pkcs8',
    });
    return createPublicKey(key);
}

test('the session key follows from prefix and secret, and proves the wallet', async () => {
    const secrets = fc.uint8Array({ minLength: 32, maxLength: 32 });
    await fc.assert(
        fc.asyncProperty(secrets, fc.constantFrom(...PREFIXES), async (secret, prefix) => {
            const text = textOf(prefix, secret);
            const { sessionKey, proof, lastFour } = await registrationOf(text, prefix, WALLET);
            const key = publicKeyOf(prefix, secret);
            const raw = key.export({ format: 'der', type: 'spki' }).subarray(-32);
            expect(sessionKey).toBe(getAddressDecoder().decode(raw));
            expect(text.endsWith(lastFour)).toBe(true);
            const signature = getBase58Encoder().encode(proof.replace('ed25519:', ''));
            const statement = `crtx-key-v1:${WALLET}:${AGENT_MARKETPLACE_PROGRAM_ADDRESS}`;
            expect(verify(null, Buffer.from(statement), key, Buffer.from(signature))).toBe(true);
        }),
        { numRuns: 30 },
    );
});

test('two keys are never the same, and each has the prefix of its network', () => {
    const texts = Array.from({ length: 50 }, () => makeKeyText('crtx_test_'));
    expect(new Set(texts).size).toBe(50);
    for (const text of texts) expect(text).toMatch(/^crtx_test_[1-9A-HJ-NP-Za-km-z]{32,44}$/);
});

const good = textOf('crtx_test_', new Uint8Array(32).fill(7));

test.each([
    ['', 'begins with crtx_test_'],
    [good.replace('test', 'live'), 'begins with crtx_test_'],
    ['crtx_test_', 'not an API key'],
    ['crtx_test_0', 'not an API key'],
    [`${good}1`, 'not an API key'],
    [good.slice(0, -1), 'not an API key'],
    ['crtx_test_' + 'z'.repeat(44), 'not an API key'],
])('%o is no key: %s', async (text, says) => {
    await expect(registrationOf(text, 'crtx_test_', WALLET)).rejects.toThrow(says);
});
