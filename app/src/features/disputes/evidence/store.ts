// Hands evidence in. The hash that goes on the chain is computed here; the service's answer only has to agree, and what
// it stored is read back.

import { sameBytes } from '../../../chain/accounts';
import { api, asWallet, body } from '../../../shared/api/client';
import { cidOf, contentPath } from '../../../shared/content';
import type { Named } from '../chain/instructions';
import { words } from '../words';
import { documentBytes } from './document';
import { type Draft, filesProblem, mediaTypeOf, textProblem } from './draft';

export async function storeEvidence(wallet: string, { text, files }: Draft): Promise<Named> {
    const problem = textProblem(text) ?? filesProblem(files);
    if (problem !== undefined) throw new Error(problem);
    const read = await Promise.all(files.map(async ({ name, file }) => ({ name, bytes: await bytesOf(name, file) })));
    const named = await Promise.all(
        read.map(async ({ name, bytes }) => {
            const hash = await hashOf(bytes);
            return { name, media_type: mediaTypeOf(name), size: bytes.length, hash, uri: `ipfs://${cidOf(hash)}` };
        }),
    );
    const document = documentBytes(text, named);
    const hash = await hashOf(document);
    const sent = read.map(({ name, bytes }) => ({ name, media_type: mediaTypeOf(name), content: base64(bytes) }));
    const stored = await body(api.POST('/v1/evidence', { ...asWallet(wallet), body: { text, files: sent } }));
    const uri = `ipfs://${cidOf(hash)}`;
    if (stored.hash !== hash || stored.uri !== uri) {
        throw new Error(words.evidence.otherStored);
    }
    const answer = await fetch(contentPath(hash), { cache: 'no-store', credentials: 'omit' });
    if (!answer.ok || !sameBytes(new Uint8Array(await answer.arrayBuffer()), document)) {
        throw new Error(words.evidence.notReadBack);
    }
    return { hash: new Uint8Array(await crypto.subtle.digest('SHA-256', document)), uri };
}

async function bytesOf(name: string, file: Blob): Promise<Uint8Array<ArrayBuffer>> {
    try {
        return new Uint8Array(await file.arrayBuffer());
    } catch {
        throw new Error(words.evidence.unreadable(name));
    }
}

export async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    return `sha256:${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** `btoa` takes a string of bytes, and a call takes a limited number of arguments. */
export function base64(bytes: Uint8Array): string {
    const pieces: string[] = [];
    for (let at = 0; at < bytes.length; at += 8_192)
        pieces.push(String.fromCharCode(...bytes.subarray(at, at + 8_192)));
    return btoa(pieces.join(''));
}
