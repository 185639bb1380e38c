// Evidence before it is handed in, and as strangers hand it in.

import { createHash } from 'node:crypto';

import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';

type Fetch = (request: Request | string) => Promise<Response>;

/** The client takes `fetch` and the origin when it is loaded. */
const service = vi.hoisted(() => {
    const service: { answer: Fetch } = { answer: () => Promise.reject(new Error('no network in this test')) };
    vi.stubGlobal('location', { origin: 'http://market.example' });
    vi.stubGlobal('fetch', (request: Request | string) => service.answer(request));
    return service;
});

import { documentBytes, readDocument, savedName } from '../../src/features/disputes/evidence/document';
import {
    EMPTY,
    filesProblem,
    mediaTypeOf,
    sizeText,
    storedName,
    textProblem,
    withFiles,
} from '../../src/features/disputes/evidence/draft';
import { base64, storeEvidence } from '../../src/features/disputes/evidence/store';
import { cidOf } from '../../src/shared/content';

const sha256 = (bytes: Uint8Array | string): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
/** Without halves of characters. */
const whole = (text: string): string => text.replace(/\p{Cs}/gu, '\ufffd');
const anyText = fc.string({
    unit: fc.oneof(
        fc.constantFrom('\u202e', '\u200b', '\0', '/', '\\', '.', ' ', 'a', '\u{1f980}', '\ufe0f', '\ufeff'),
        fc.string({ unit: 'binary' }),
    ),
});

test('the document is the one that the command line and the service hash', () => {
    // The example of cli/src/evidence.rs.
    const hash = sha256('bytes');
    const file = { name: 'a.txt', media_type: 'text/plain', size: 5, hash, uri: `ipfs://${cidOf(hash)}` };
    const text = new TextDecoder().decode(documentBytes('wrong', [file]));
    expect(text).toBe(
        `{"files":[{"hash":"${hash}","media_type":"text/plain","name":"a.txt","size":5,"uri":"ipfs://${cidOf(hash)}"}],"text":"wrong","version":1}`,
    );
});

test('a document is read back as it was written, whatever stands in it', () => {
    fc.assert(
        fc.property(anyText, fc.array(anyText, { maxLength: 5 }), (text, names) => {
            const files = names.map((name) => ({
                name,
                media_type: 'text/plain',
                size: 1,
                hash: sha256(name),
                uri: '',
            }));
            const said = whole(text);
            expect(readDocument(documentBytes(said, files))).toEqual({
                kind: 'document',
                text: said,
                files: files.map((file) => ({ ...file, name: whole(file.name) })),
            });
        }),
    );
});

test('bytes of strangers are a document, a text, or only bytes, and never an error', () => {
    fc.assert(
        fc.property(fc.uint8Array(), (bytes) => ['document', 'text', 'bytes'].includes(readDocument(bytes).kind)),
    );
    const read = (text: string): string => readDocument(new TextEncoder().encode(text)).kind;
    expect(read('{"text":"x","files":[]}')).toBe('document');
    expect(read('{"text":"x"}')).toBe('text');
    expect(read('{"text":1,"files":[]}')).toBe('text');
    expect(read('{"text":"x","files":[{"name":"a","media_type":"b","size":1,"hash":"sha256:../../v1/status"}]}')).toBe(
        'text',
    );
    expect(read(`{"text":"x","files":[${Array.from({ length: 6 }, () => 'null').join()}]}`)).toBe('text');
    expect(read(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toBe('text');
    expect(readDocument(Uint8Array.of(0xff, 0xfe)).kind).toBe('bytes');
});

test('a file is stored under a name that the service takes', () => {
    fc.assert(
        fc.property(anyText, (name) => {
            const stored = storedName(name);
            expect(Array.from(stored).length).toBeGreaterThan(0);
            expect(Array.from(stored).length).toBeLessThanOrEqual(100);
            expect(stored).not.toMatch(/[/\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u200b\u202e\ufe0f]/u);
            expect(stored).toBe(stored.trim());
            expect(stored).not.toMatch(/^\.{1,2}$/);
        }),
        { numRuns: 1_000 },
    );
    expect(storedName('shot 1.png')).toBe('shot 1.png');
    expect(storedName('<img src=x onerror="x()">.html')).toBe('<img src=x onerror="x()">.html');
    expect(storedName('safe\u202egnp.exe')).toBe('safe_gnp.exe');
    expect(storedName('../../etc/passwd')).toBe('.._.._etc_passwd');
});

test('files of one name get names of their own', () => {
    fc.assert(
        fc.property(
            fc.array(fc.constantFrom('a.txt', 'b', '.x', `${'n'.repeat(120)}.png`), { maxLength: 5 }),
            (names) => {
                const { files } = withFiles(
                    EMPTY,
                    names.map((name) => new File(['x'], name)),
                );
                expect(new Set(files.map(({ name }) => name)).size).toBe(names.length);
                for (const { name } of files) expect(Array.from(name).length).toBeLessThanOrEqual(100);
            },
        ),
    );
});

test('a file of a stranger is saved under an ending that no system runs', () => {
    fc.assert(
        fc.property(anyText, (name) =>
            /^[A-Za-z0-9_-]+\.(txt|log|md|json|csv|png|jpg|jpeg|pdf|bin)$/.test(savedName(name, sha256(name))),
        ),
    );
    const saved = ['shot.PNG', 'run.exe', 'x.pdf.html', 'safe\u202egnp.exe', '.bashrc', ''].map((name) =>
        savedName(name, sha256('')),
    );
    expect(saved).toEqual(['shot.png', 'run.bin', 'x_pdf.bin', 'safe_gnp.bin', 'bashrc.bin', 'e3b0c44298fc.bin']);
});

test('what the service would refuse is said before it is handed in', () => {
    const file = (size: number) => ({ name: 'a', file: new Blob([new Uint8Array(size)]) });
    expect(
        [' \n', 'x'.repeat(20_001), 'a\u0007', '\ud800'].map(textProblem).every((problem) => problem !== undefined),
    ).toBe(true);
    expect(['x', '\u{1f980}'.repeat(20_000), 'a\tb\r\nc', HOSTILE].map(textProblem)).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
    ]);
    expect(filesProblem([file(524_288), file(524_288)])).toBeUndefined();
    expect(filesProblem([file(524_288), file(524_289)])).toMatch(/MiB/);
    expect(filesProblem([file(0)])).toMatch(/empty/);
    expect(filesProblem(Array.from({ length: 6 }, () => file(1)))).toMatch(/Remove 1/);
    expect([sizeText(1), sizeText(1_536), sizeText(1_048_576)]).toEqual(['1 B', '1.5 KiB', '1 MiB']);
    expect(['a.PNG', 'a.tar.gz', 'constructor', 'x.constructor'].map(mediaTypeOf)).toEqual([
        'image/png',
        ...Array.from({ length: 3 }, () => 'application/octet-stream'),
    ]);
});

const HOSTILE = '<script>1</script>\u202e\u200b\u2028';

test('bytes survive base64', () => {
    fc.assert(
        fc.property(
            fc.uint8Array({ maxLength: 20_000 }),
            (bytes) => base64(bytes) === Buffer.from(bytes).toString('base64'),
        ),
    );
});

type Sent = { text: string; files: { content: string }[] };

/** A service that stores what it is told to. */
function serve(stored: (body: Sent) => Uint8Array, stated: (bytes: Uint8Array) => string = sha256): Sent[] {
    const sent: Sent[] = [];
    let bytes = new Uint8Array();
    service.answer = async (request) => {
        if (typeof request === 'string') return new Response(new Uint8Array(bytes));
        sent.push((await request.json()) as Sent);
        bytes = new Uint8Array(stored(sent[0] as Sent));
        const hash = stated(bytes);
        return Response.json({ hash, uri: `ipfs://${cidOf(hash)}` }, { status: 201 });
    };
    return sent;
}

const WALLET = '4cHHb6rPA7HQ1prJJqPKJkCz8vV8FhFZNpPpUEHnqQjH';
const draft = { text: 'It is empty.', files: [{ name: 'a.txt', file: new Blob(['bytes']) }] };
const honest = (): Uint8Array => {
    const hash = sha256('bytes');
    return documentBytes(draft.text, [
        { name: 'a.txt', media_type: 'text/plain', size: 5, hash, uri: `ipfs://${cidOf(hash)}` },
    ]);
};

test('the hash for the chain is the one of the document that was written', async () => {
    const sent = serve(honest);
    const { hash, uri } = await storeEvidence(WALLET, draft);
    expect([`sha256:${Buffer.from(hash).toString('hex')}`, uri]).toEqual([
        sha256(honest()),
        `ipfs://${cidOf(sha256(honest()))}`,
    ]);
    expect(sent).toEqual([
        { text: draft.text, files: [{ name: 'a.txt', media_type: 'text/plain', content: 'Ynl0ZXM=' }] },
    ]);
});

test('a service that stores another document, or says so only, is found out', async () => {
    serve(() => documentBytes('It is fine.', []));
    await expect(storeEvidence(WALLET, draft)).rejects.toThrow(/another document/);
    serve(
        () => new Uint8Array([1]),
        () => sha256(honest()),
    );
    await expect(storeEvidence(WALLET, draft)).rejects.toThrow(/cannot read back/);
});

test('nothing is handed in while something is wrong with it', async () => {
    const sent = serve(honest);
    await expect(storeEvidence(WALLET, { ...draft, text: ' ' })).rejects.toThrow(/Enter what happened/);
    expect(sent).toEqual([]);
});
