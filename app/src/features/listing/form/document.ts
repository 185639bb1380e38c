// The metadata document of a listing: its canonical bytes, its hash, how it is stored, and how an existing one fills
// the form.

import { cidOf } from '../../../shared/content';
import { hexOf } from '../../../chain/accounts';
import { ApiError, type Schemas, api, asWallet, body } from '../../../shared/api/client';
import { type JsonObject, canonical, isObject, readJson } from '../../run';
import { DOCUMENT_FIELDS, type Fields, type Problems } from './fields';
import type { Document } from './rules';
import { words } from '../words';

export type Stored = { readonly hash: Uint8Array; readonly uri: string };

/**
 * The text that is stored: RFC 8785, as `crtx agent publish` has it. `others`: members that the marketplace does not
 * know.
 */
export const documentText = (document: Document, others: JsonObject = {}): string =>
    canonical({ ...others, ...document });

export async function hashOf(text: string): Promise<Uint8Array> {
    return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

/** What the service refuses, by field. */
export class DocumentRefused extends Error {
    constructor(
        readonly problems: Problems,
        message: string,
    ) {
        super(message);
    }
}

/** Stores the document with the service. The page computes the hash itself. */
export async function storeDocument(wallet: string, text: string): Promise<Stored> {
    const hash = await hashOf(text);
    try {
        const document = JSON.parse(text) as Schemas['MetadataBody'];
        // Checks that the service stored the bytes of this hash.
        const stored = await body(
            api.POST('/v1/metadata', { ...asWallet(wallet), body: document, bodySerializer: () => text }),
        );
        if (stored.hash !== `sha256:${hexOf(hash)}`) throw new Error(words.document.otherBytes);
        return { hash, uri: `ipfs://${cidOf(hexOf(hash))}` };
    } catch (error) {
        if (error instanceof ApiError && error.status === 400) throw refused(error.message);
        throw error;
    }
}

const NAMES: { readonly [member: string]: (typeof DOCUMENT_FIELDS)[number] } = {
    ...Object.fromEntries(DOCUMENT_FIELDS.map((name) => [name, name])),
    input_schema: 'inputSchema',
    output_schema: 'outputSchema',
};

/** The service names one problem a line, with the member at the beginning. */
export function refused(message: string): DocumentRefused {
    const problems: { -readonly [name in keyof Problems]: string } = {};
    const others: string[] = [];
    for (const line of message.split('\n')) {
        const [, member = '', rest = ''] = /^`(\w+)` (.+)$/s.exec(line) ?? [];
        const name = Object.hasOwn(NAMES, member) ? NAMES[member] : undefined;
        if (name === undefined) others.push(line);
        else problems[name] = words.document.serviceSays(rest);
    }
    const where = Object.keys(problems).length > 0 ? [words.document.fieldsSay] : [];
    return new DocumentRefused(problems, [words.document.refused, ...where, ...others].join(' '));
}

/** An existing document: the fields that it fills, and the members that the marketplace does not know. */
export type ReadDocument = {
    readonly fields: Pick<Fields, (typeof DOCUMENT_FIELDS)[number]>;
    readonly others: JsonObject;
};

/** Throws if a form cannot hold the document exactly. */
export function readDocument(text: string): ReadDocument {
    const document = readJson(text);
    if (!isObject(document)) throw new Error(words.document.noObject);
    const { name, tagline, description, tags, endpoint, input_schema, output_schema, ...others } = document;
    const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
    const schemaOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, null, 2));
    const fields = {
        name: textOf(name),
        tagline: textOf(tagline),
        description: textOf(description),
        tags: Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === 'string') : [],
        endpoint: textOf(endpoint),
        inputSchema: schemaOf(input_schema),
        outputSchema: schemaOf(output_schema),
    };
    return { fields, others };
}
