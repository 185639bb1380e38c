// An API key as its owner holds it: made in this browser, which neither sends nor stores it. Its text derives the
// session key pair ("API keys" in docs/specification.md; crates/protocol/src/api_key.rs).

import {
    type Address,
    createKeyPairFromPrivateKeyBytes,
    getAddressFromPublicKey,
    getBase58Decoder,
    getBase58Encoder,
    signBytes,
} from '@solana/kit';

import { AGENT_MARKETPLACE_PROGRAM_ADDRESS } from '../../generated/programs';
import { words } from './words';

const SECRET_BYTES = 32;
const SESSION_LABEL = 'crtx session key v1';
const LAST_FOUR = 4;

/** What the service is told of a key. Nothing in it can spend or sign. */
export type Registration = {
    readonly sessionKey: Address;
    /** The session key's signature: the key belongs to this wallet. */
    readonly proof: string;
    readonly lastFour: string;
};

/** A new key's text, from the randomness of the browser. */
export const makeKeyText = (prefix: string): string =>
    textOf(prefix, crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));

export const textOf = (prefix: string, secret: Uint8Array): string => prefix + getBase58Decoder().decode(secret);

/** What the holder of a key proves about it. `text` may be typed in, so it is checked. */
export async function registrationOf(text: string, prefix: string, wallet: Address): Promise<Registration> {
    const pair = await sessionKeyPair(prefix, secretOf(text, prefix));
    const statement = new TextEncoder().encode(`crtx-key-v1:${wallet}:${AGENT_MARKETPLACE_PROGRAM_ADDRESS}`);
    const signature = await signBytes(pair.privateKey, statement);
    return {
        sessionKey: await getAddressFromPublicKey(pair.publicKey),
        proof: `ed25519:${getBase58Decoder().decode(signature)}`,
        lastFour: text.slice(-LAST_FOUR),
    };
}

function secretOf(text: string, prefix: string): Uint8Array {
    if (!text.startsWith(prefix)) throw new Error(words.registration.wrongPrefix(prefix));
    const problem = new Error(words.registration.malformed);
    const encoded = text.slice(prefix.length);
    if (!/^[1-9A-HJ-NP-Za-km-z]{1,44}$/.test(encoded)) throw problem;
    const secret = new Uint8Array(getBase58Encoder().encode(encoded));
    if (secret.length !== SECRET_BYTES) throw problem;
    return secret;
}

async function sessionKeyPair(prefix: string, secret: Uint8Array): Promise<CryptoKeyPair> {
    const utf8 = new TextEncoder();
    const key = await crypto.subtle.importKey('raw', new Uint8Array(secret), 'HKDF', false, ['deriveBits']);
    const derivation = { name: 'HKDF', hash: 'SHA-256', salt: utf8.encode(prefix), info: utf8.encode(SESSION_LABEL) };
    return createKeyPairFromPrivateKeyBytes(
        new Uint8Array(await crypto.subtle.deriveBits(derivation, key, 8 * SECRET_BYTES)),
    );
}
