// The request of the form: one word of a shell for every value, only what a URL can carry, and an answer in part.

import { execFileSync } from 'node:child_process';

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { authorizationOf, credentialFor } from '../../src/features/docs/credential';
import type { Operation } from '../../src/features/docs/reference';
import { bearerWord, curlOf, laidOut, readStart, write } from '../../src/features/docs/request';

const ORIGIN = 'http://127.0.0.1:8080';

const operation: Operation = {
    anchor: 'post-v1-x-id',
    method: 'POST',
    path: '/v1/x/{id}',
    tag: 'x',
    summary: '',
    description: '',
    parameters: (['path', 'query', 'header'] as const).map((place) => ({
        name: place === 'path' ? 'id' : place,
        place,
        required: place === 'path',
        description: '',
        schema: {},
        example: '',
    })),
    body: { type: 'application/json', schema: {} },
    answers: [],
    credentials: ['api_key', 'session', 'session_cookie'],
    isOpen: false,
};

const draft = (id: string, query: string, header: string, body: string) => ({
    values: { 'path id': id, 'query query': query, 'header header': header },
    body,
});

/** The words that a shell makes of each command. One shell for all of them: starting it is what takes time. */
function wordsOf(...commands: string[]): string[][] {
    const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; printf 'end\\0\\0'; }\n${commands.join('\n')}\n`;
    const out = execFileSync('/bin/sh', ['-s'], { input: script, encoding: 'utf8', env: { PATH: '/nowhere' } });
    return out
        .split('end\0\0')
        .slice(0, -1)
        .map((words) => words.split('\0').slice(0, -1));
}

test('each value is one word of the shell, whatever it is', () => {
    const parts = fc.constantFrom(
        "'",
        '"',
        '\\',
        '$',
        '`',
        '\n',
        '\r',
        ' ',
        '$(id)',
        '@/etc/passwd',
        '!',
        ';',
        '&',
        '\t',
        '*',
        '{a,b}',
        '\u00fc',
        '\ud83d\ude00',
    );
    const nasty = fc
        .oneof(
            fc.string({ unit: 'binary', minLength: 1 }),
            fc.array(parts, { minLength: 1, maxLength: 8 }).map((list) => list.join('')),
        )
        .map((text) => text.replaceAll('\0', '0').replace(/\p{Surrogate}/gu, '?'));
    const values = fc.sample(fc.tuple(nasty, nasty, nasty, nasty, nasty), 100);
    const commands = values.map(([id, query, header, body, token]) =>
        curlOf(write(operation, draft(id, query, header, body), ORIGIN), bearerWord(token)),
    );
    const read = wordsOf(...commands);
    expect(read).toHaveLength(values.length);
    values.forEach(([id, query, header, body, token], index) => {
        expect(read[index]).toEqual([
            ...[
                '-sS',
                '--url',
                `${ORIGIN}/v1/x/${encodeURIComponent(id)}?query=${encodeURIComponent(query)}`,
                '-X',
                'POST',
            ],
            ...[
                '-H',
                `Authorization: Bearer ${token}`,
                '-H',
                `header: ${header}`,
                '-H',
                'Content-Type: application/json',
                '--data-raw',
                body,
            ],
        ]);
    });
});

test('no value leaves its place in the URL', () => {
    fc.assert(
        fc.property(
            fc.string({ unit: 'binary', minLength: 1 }),
            fc.string({ unit: 'binary', minLength: 1 }),
            (id, query) => {
                const { url, problems } = write(operation, draft(id, query, '', ''), ORIGIN);
                if (problems.length > 0) return;
                const read = new URL(url);
                expect([read.origin, read.pathname.split('/').length, read.hash]).toEqual([ORIGIN, 4, '']);
                expect([...read.searchParams.keys()]).toEqual(['query']);
            },
        ),
    );
    expect(write(operation, draft('$&{id}', '', '', ''), ORIGIN).url).toBe(`${ORIGIN}/v1/x/%24%26%7Bid%7D`);
});

test('what cannot be sent is said before', () => {
    const problems = (id: string, header: string) => write(operation, draft(id, '', header, '{}'), ORIGIN).problems;
    expect(problems('', '')).toEqual(['Fill in id.']);
    expect(problems('..', '')).toEqual(['id cannot be dots alone.']);
    expect(problems('a', 'b\nc')).toEqual(['header has characters that a header cannot carry.']);
    expect(problems('a', '\u20ac')).toHaveLength(1);
    expect(problems('a.b', 'c')).toEqual([]);
});

test('bytes are named as a file, and no body is made of the text', () => {
    const written = write(
        { ...operation, body: { type: 'application/octet-stream', schema: {} } },
        draft('a', '', '', 'text'),
        ORIGIN,
    );
    expect(written.body).toBeNull();
    expect(wordsOf(curlOf(written, null))[0]?.slice(-2)).toEqual(['--data-binary', '@FILE']);
});

test('the key goes only where a key is taken, and the cookie only where there is none', () => {
    const kinds = (credentials: string[], token: string, wallet: string | null) =>
        credentialFor({ ...operation, credentials }, token, wallet).kind;
    expect(kinds(['api_key', 'session', 'session_cookie'], 'crtx_test_1', 'W')).toBe('key');
    expect(kinds(['session', 'session_cookie'], 'crtx_test_1', 'W')).toBe('session');
    expect(kinds(['session', 'session_cookie'], 'crtx_test_1', null)).toBe('none');
    expect(kinds(['session', 'session_cookie'], 'crtx_session_1', 'W')).toBe('key');
    expect(kinds(['api_key'], '', 'W')).toBe('none');
    expect(kinds([], 'crtx_test_1', 'W')).toBe('none');
});

test('the example hides the key unless it is to be shown', () => {
    const key = credentialFor(operation, 'crtx_test_secret', null);
    expect(authorizationOf(operation, key, false)).not.toContain('secret');
    expect(authorizationOf(operation, key, true)).toBe("'Authorization: Bearer crtx_test_secret'");
    expect(authorizationOf(operation, { kind: 'none' }, true)).toContain('$CRTX_API_KEY');
    expect(authorizationOf({ ...operation, credentials: [], isOpen: true }, { kind: 'none' }, true)).toBeNull();
});

test('an answer is read up to its bound and no further', async () => {
    let sent = 0;
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(1_000).fill(97 + (sent++ % 2))),
        cancel: () => void (isCancelled = true),
    });
    const { text, isCut } = await readStart(new Response(endless), 2_500);
    expect([text.length, isCut, isCancelled, sent < 10]).toEqual([2_500, true, true, true]);
    expect(await readStart(new Response('short \u20ac'), 8 + 1)).toEqual({ text: 'short \u20ac', isCut: false });
    expect(await readStart(new Response(null), 10)).toEqual({ text: '', isCut: false });
});

test('JSON in lines is the same JSON, with its numbers as they were written', () => {
    fc.assert(
        fc.property(fc.json(), (json) => {
            expect(JSON.parse(laidOut(json))).toEqual(JSON.parse(json));
        }),
    );
    expect(laidOut('{"a":[],"b":[1.50,9007199254740993],"c":"{,:"}')).toBe(
        '{\n  "a": [],\n  "b": [\n    1.50,\n    9007199254740993\n  ],\n  "c": "{,:"\n}',
    );
    expect(laidOut('[1,{"a":"cut').split('\n')).toHaveLength(4);
    expect(laidOut('['.repeat(65_536)).length).toBeLessThan(2_000_000);
    expect(laidOut(`["${'\\'.repeat(65_000)}`).length).toBeLessThan(70_000);
});
