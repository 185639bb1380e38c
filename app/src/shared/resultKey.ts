// The Ed25519 key that signs an agent's results: made in the browser and saved as a file, or pasted. The file has the
// format of `crtx agent init` and of the Solana command line: a JSON array of 64 numbers, 32 of the seed and 32 of the
// public key. Nothing here keeps or sends a secret.

import {
    type Address,
    generateKeyPair,
    getAddressDecoder,
    getAddressEncoder,
    getAddressFromPublicKey,
    isAddress,
    isOffCurveAddress,
} from '@solana/kit';

import { hasSmallOrder } from '../chain/smallOrder';
import { saveFile } from './csv';
import { words } from './words';

/** A key pair that exists in this page alone until its file is saved. */
export type MadeResultKey = { readonly address: Address; readonly fileName: string; readonly fileText: string };

/** Why a text names no usable result key; the message is for the user. */
export class ResultKeyError extends Error {}

const SEED_BYTES = 32;
const PAIR_BYTES = 64;
/** A longer file is no key file. */
const MAX_FILE_BYTES = 4_096;
/** Digits of the address in the name of the file: one folder can hold the keys of several agents. */
const NAME_DIGITS = 8;

export async function makeResultKey(): Promise<MadeResultKey> {
    const pair = await generateKeyPair(true);
    const address = await getAddressFromPublicKey(pair.publicKey);
    const seed = new Uint8Array(await crypto.subtle.exportKey('pkcs8', pair.privateKey)).slice(-SEED_BYTES);
    const numbers = [...seed, ...getAddressEncoder().encode(address)];
    return { address, fileName: `result-key-${address.slice(0, NAME_DIGITS)}.json`, fileText: JSON.stringify(numbers) };
}

/** Lets the browser save the key's file. */
export const saveResultKey = ({ fileName, fileText }: MadeResultKey): void =>
    saveFile(fileName, 'application/json', fileText);

/** The public key that a pasted text names: an address, or the content of a key file. Throws a `ResultKeyError`. */
export async function readResultKey(text: string): Promise<Address> {
    const pasted = text.trim();
    if (pasted === '') throw new ResultKeyError(words.resultKey.none);
    return pasted.startsWith('[') ? publicHalf(pasted) : publicKey(pasted);
}

/** The same of a chosen file. */
export async function readResultKeyFile(file: Blob): Promise<Address> {
    if (file.size > MAX_FILE_BYTES) throw new ResultKeyError(words.resultKey.fileTooLong);
    return readResultKey(await file.text());
}

/** Refuses keys that no signature can be checked with: results would never be accepted. */
function publicKey(text: string): Address {
    if (!isAddress(text)) {
        throw new ResultKeyError(
            /^[1-9A-HJ-NP-Za-km-z]{80,90}$/.test(text) ? words.resultKey.secret : words.resultKey.noKey,
        );
    }
    if (hasSmallOrder(getAddressEncoder().encode(text))) throw new ResultKeyError(words.resultKey.weak);
    if (isOffCurveAddress(text)) throw new ResultKeyError(words.resultKey.ofProgram);
    return text;
}

async function publicHalf(json: string): Promise<Address> {
    const bytes = pairBytes(json);
    const address = publicKey(getAddressDecoder().decode(bytes.slice(SEED_BYTES)));
    if ((await addressOfSeed(bytes.slice(0, SEED_BYTES))) !== address) {
        throw new ResultKeyError(words.resultKey.halves);
    }
    return address;
}

function pairBytes(json: string): Uint8Array {
    let numbers: unknown;
    try {
        numbers = JSON.parse(json);
    } catch {
        numbers = null;
    }
    const isByte = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
    if (!Array.isArray(numbers) || numbers.length !== PAIR_BYTES || !numbers.every(isByte)) {
        throw new ResultKeyError(words.resultKey.noFile);
    }
    return Uint8Array.from(numbers as number[]);
}

/** `PrivateKeyInfo` of an Ed25519 seed (RFC 8410), up to the seed. */
const PKCS8_HEADER = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/** WebCrypto says the public key of a seed only in the form of a JWK. */
async function addressOfSeed(seed: Uint8Array): Promise<Address> {
    const info = Uint8Array.from([...PKCS8_HEADER, ...seed]);
    const { x = '' } = await crypto.subtle.exportKey(
        'jwk',
        await crypto.subtle.importKey('pkcs8', info, 'Ed25519', true, ['sign']),
    );
    const bytes = Uint8Array.from(atob(x.replaceAll('-', '+').replaceAll('_', '/')), (digit) => digit.charCodeAt(0));
    return getAddressDecoder().decode(bytes);
}
