// The documents that are pages: their links lead somewhere, they are in the build's hash, and the errors are complete.

import { readFileSync } from 'node:fs';
import path from 'node:path';

import { expect, test } from 'vitest';

import { DOCUMENT_IDS, loadDocument, targetOf } from '../../src/features/docs/documents';
import { parseDocument } from '../../src/features/docs/markdown';

const root = path.resolve(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

const documents = await Promise.all(DOCUMENT_IDS.map(async (id) => ({ id, markdown: await loadDocument(id) })));

test('each document has a title, and each of its headings an anchor of its own', () => {
    for (const { id, markdown } of documents) {
        const { title, headings } = parseDocument(markdown);
        expect(title, id).not.toBe('');
        expect(new Set(headings.map(({ anchor }) => anchor)).size, id).toBe(headings.length);
    }
});

test('a link to a heading leads to one that is there', () => {
    const anchors = new Map(
        documents.map(({ id, markdown }) => [id, parseDocument(markdown).headings.map(({ anchor }) => anchor)]),
    );
    for (const { id, markdown } of documents) {
        for (const [, href = ''] of markdown.matchAll(/\]\(([^)\s]+)\)/g)) {
            const target = targetOf(href);
            if (target === null || target.kind === 'elsewhere' || target.kind === 'api' || target.hash === '') continue;
            expect(anchors.get(target.kind === 'here' ? id : target.id), `${id}: ${href}`).toContain(target.hash);
        }
    }
});

test('no link of a document is a program', () => {
    for (const href of [
        'javascript:alert(1)',
        'JAVASCRIPT:alert(1)',
        'data:text/html,x',
        '//evil.test',
        'http://x.test',
        '/x',
        'verify.md/../x',
    ]) {
        expect(targetOf(href)).toBeNull();
    }
    expect(targetOf('verify.md#what-you-trust')).toEqual({ kind: 'document', id: 'verify', hash: 'what-you-trust' });
    expect(targetOf('api.md#lists')).toEqual({ kind: 'api' });
});

test('the page of the errors has every code of the API, once', () => {
    const { components } = JSON.parse(read('docs/openapi.json')) as {
        components: { schemas: { ErrorCode: { enum: string[] } } };
    };
    const rows = Array.from(read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm), ([, code]) => code);
    expect(rows.toSorted()).toEqual(components.schemas.ErrorCode.enum.toSorted());
});

test('the status of each error is one with which the API answers it', () => {
    const { paths } = JSON.parse(read('docs/openapi.json')) as {
        paths: Record<string, Record<string, { responses?: Record<string, { description: string }> }>>;
    };
    const known = Object.values(paths).flatMap((item) =>
        Object.values(item).flatMap(({ responses = {} }) => Object.entries(responses)),
    );
    for (const [, code = '', status = ''] of read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)) {
        const named = known.filter(([, { description }]) => description.includes(`\`${code}\``)).map(([one]) => one);
        if (named.length > 0) expect(named, code).toContain(status);
    }
});

test('the hash of the build covers every document that is a page', () => {
    for (const file of ['app/scripts/stamp.mjs', 'crates/dashboard/build/sources.rs']) {
        const named = Array.from(read(file).matchAll(/\.\.\/docs\/([\w-]+\.md)/g), ([, name = '']) => name);
        const pages = read('app/src/features/docs/documents.ts').matchAll(/docs\/([\w-]+\.md)\?raw/g);
        expect(named.toSorted(), file).toEqual(Array.from(pages, ([, name = '']) => name).toSorted());
    }
});
