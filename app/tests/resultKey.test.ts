// Result keys: what is saved is read back as the same key, and what cannot sign results is refused with the reason.

import { type Address, createKeyPairFromBytes, getAddressFromPublicKey, signBytes, verifySignature } from '@solana/kit';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { findEscrowAddress } from '../src/chain/addresses';
import { ResultKeyError, makeResultKey, readResultKey, readResultKeyFile } from '../src/shared/resultKey';

const ZERO = '11111111111111111111111111111111' as Address;

test('the saved file is a key pair of the Solana command line that signs for its address', async () => {
    const { address, fileName, fileText } = await makeResultKey();
    const numbers = JSON.parse(fileText) as number[];
    const pair = await createKeyPairFromBytes(Uint8Array.from(numbers));
    expect(numbers).toHaveLength(64);
    expect(await getAddressFromPublicKey(pair.publicKey)).toBe(address);
    const message = new TextEncoder().encode('sha256:00');
    expect(await verifySignature(pair.publicKey, await signBytes(pair.privateKey, message), message)).toBe(true);
    expect(fileName).toBe(`result-key-${address.slice(0, 8)}.json`);
});

test('the file and the address of a key name the same key, with spaces around them', async () => {
    const { address, fileText } = await makeResultKey();
    expect(await readResultKey(` ${address}\n`)).toBe(address);
    expect(await readResultKey(`\n${fileText.replaceAll(',', ', ')}\n`)).toBe(address);
    expect(await readResultKeyFile(new Blob([fileText]))).toBe(address);
});

test('two keys are never the same', async () => {
    const [one, other] = [await makeResultKey(), await makeResultKey()];
    expect(one.address).not.toBe(other.address);
});

test('a file with one altered number is refused', async () => {
    const { fileText } = await makeResultKey();
    const numbers = JSON.parse(fileText) as number[];
    await fc.assert(
        fc.asyncProperty(fc.nat(63), fc.integer({ min: 1, max: 255 }), async (at, change) => {
            const altered = numbers.map((number, index) => (index === at ? (number + change) % 256 : number));
            await expect(readResultKey(JSON.stringify(altered))).rejects.toThrow(ResultKeyError);
        }),
        { numRuns: 30 },
    );
});

test('any other text is refused with a reason', async () => {
    const key = (await makeResultKey()).address;
    await fc.assert(
        fc.asyncProperty(
            fc.oneof(
                fc.string(),
                fc.json(),
                fc.string().map((text) => `[${text}`),
            ),
            async (text) => {
                fc.pre(text.trim() !== key);
                await expect(readResultKey(text)).rejects.toThrow(ResultKeyError);
            },
        ),
    );
});

test('keys that nobody or everybody can sign for are refused', async () => {
    await expect(readResultKey(ZERO)).rejects.toThrow('Anybody can sign');
    await expect(readResultKey(await findEscrowAddress(ZERO))).rejects.toThrow('belongs to a program');
});

test('a secret key in place of the public one is recognised', async () => {
    await expect(readResultKey('5'.repeat(88))).rejects.toThrow('secret key');
});

test('a file that is too long is not read', async () => {
    await expect(readResultKeyFile(new Blob(['1'.repeat(5_000)]))).rejects.toThrow('too long');
});
