// The evidence document: what is hashed and named on the chain ("Create evidence" in docs/specification.md). Documents
// of strangers may have any other form; then they are a text, or bytes.

/** A file as a document names it. */
export type NamedFile = {
    readonly name: string;
    readonly media_type: string;
    readonly size: number;
    /** `sha256:` and hexadecimal digits. */
    readonly hash: string;
    readonly uri: string;
};

/** The bytes that the service must store, in the form of RFC 8785: members in order, without spaces. */
export function documentBytes(text: string, files: readonly NamedFile[]): Uint8Array<ArrayBuffer> {
    const ordered = files.map(({ hash, media_type, name, size, uri }) => ({ hash, media_type, name, size, uri }));
    return new TextEncoder().encode(JSON.stringify({ files: ordered, text, version: 1 }));
}

export type Content =
    | { readonly kind: 'document'; readonly text: string; readonly files: readonly NamedFile[] }
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'bytes' };

const MAX_FILES = 5;
const HASH = /^sha256:[0-9a-f]{64}$/;

/** What the bytes say. Never throws. */
export function readDocument(bytes: Uint8Array): Content {
    const text = decoded(bytes);
    if (text === null) return { kind: 'bytes' };
    const document = parsed(text);
    const { text: said, files } = isObject(document) ? document : {};
    const isDocument =
        typeof said === 'string' && Array.isArray(files) && files.length <= MAX_FILES && files.every(isNamedFile);
    return isDocument ? { kind: 'document', text: said, files: files as NamedFile[] } : { kind: 'text', text };
}

function decoded(bytes: Uint8Array): string | null {
    try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
        return null;
    }
}

function parsed(text: string): unknown {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);

function isNamedFile(value: unknown): boolean {
    if (!isObject(value)) return false;
    const { name, media_type, size, hash } = value;
    const isText = typeof name === 'string' && typeof media_type === 'string' && typeof hash === 'string';
    return isText && HASH.test(hash) && Number.isSafeInteger(size) && Number(size) >= 0;
}

const KNOWN_ENDINGS = new Set(['txt', 'log', 'md', 'json', 'csv', 'png', 'jpg', 'jpeg', 'pdf']);

/**
 * The name under which a stranger's file is saved: plain letters, and an ending that no system runs. Everything else
 * ends in `.bin`.
 */
export function savedName(name: string, hash: string): string {
    const [, stem = '', ending = ''] = /^(.*?)(?:\.([A-Za-z0-9]{1,5}))?$/s.exec(name) ?? [];
    const plain = stem
        .replace(/[^A-Za-z0-9_-]+/g, '_')
        .replace(/^_+|_+$/g, '')
        .slice(0, 60);
    const known = ending.toLowerCase();
    return `${plain === '' ? hash.slice(7, 19) : plain}.${KNOWN_ENDINGS.has(known) ? known : 'bin'}`;
}
