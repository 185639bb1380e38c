// What an edit sends: the difference, the missing collateral, and the document with what the marketplace does not know.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Difference, coveredBy, depositFor, differences, readRelevant } from '../../src/features/listing/change';
import { documentText, hashOf, readDocument, refused } from '../../src/features/listing/form/document';
import type { FieldName, Fields } from '../../src/features/listing/form/fields';
import { readFields } from '../../src/features/listing/form/rules';
import { lineDiff } from '../../src/features/listing/lineDiff';
import { GOOD, TIERS, bookOf } from './support';

const namesOf = (found: readonly Difference[]): FieldName[] => found.map(({ name }) => name);

describe('the difference of an edit', () => {
    it('is empty for what means the same', () => {
        const same: Partial<Fields> = {
            price: '00.0500',
            timeout: '060',
            minCover: '01',
            description: 'Send a text.',
            inputSchema: GOOD.inputSchema.replace(/\s+/g, ' '),
        };
        expect(differences(GOOD, { ...GOOD, ...same })).toEqual([]);
    });

    it('names each changed field with old and new', () => {
        const after = { ...GOOD, tags: ['data'], price: '0.06', binding: false, inputSchema: '{"type": "object"}' };
        const found = differences(GOOD, after);
        expect(namesOf(found)).toEqual(['tags', 'inputSchema', 'price', 'binding']);
        expect(found[0]).toEqual({ name: 'tags', before: 'data, own-tag', after: 'data' });
        expect(found[1]?.after).toBe('{\n  "type": "object"\n}');
    });

    it('keeps a price that cannot be read as a change', () =>
        expect(namesOf(differences(GOOD, { ...GOOD, price: '0.05x' }))).toEqual(['price']));

    it('checks what is sent alone', () => {
        const old = { ...GOOD, price: '0.0001', name: '' };
        expect(readRelevant(old, new Set<FieldName>(['timeout']), bookOf('mainnet')).problems).toEqual({});
        expect(Object.keys(readRelevant(old, new Set<FieldName>(['tagline']), bookOf('mainnet')).problems)).toEqual([
            'name',
        ]);
        expect(Object.keys(readRelevant(old, new Set<FieldName>(['price']), bookOf('mainnet')).problems)).toEqual([
            'price',
        ]);
    });
});

describe('the collateral that new terms miss', () => {
    const listing = { price: 50_000n, minCover: 1, collateral: 10_000_000n, disputedAmount: 0n };
    const at = (price: bigint, minCover = 1) => ({ price, minCover });

    it('is what a higher price needs beyond what is there', () => {
        expect(depositFor(listing, TIERS, at(100_000n))).toBe(0n);
        expect(depositFor(listing, TIERS, at(100_001n))).toBe(40_000_000n);
        expect(depositFor({ ...listing, collateral: 300_000_000n }, TIERS, at(5_000_000n))).toBe(0n);
    });

    it('is what a higher promise needs beyond what no open dispute claims', () => {
        expect(depositFor(listing, TIERS, at(50_000n, 200))).toBe(0n);
        expect(depositFor(listing, TIERS, at(50_000n, 201))).toBe(50_000n);
        expect(depositFor({ ...listing, disputedAmount: 1n }, TIERS, at(50_000n, 200))).toBe(1n);
    });

    it('is nothing for lower or the same terms, even of a slashed agent', () => {
        const slashed = { price: 5_000_000n, minCover: 9, collateral: 1n, disputedAmount: 0n };
        for (const [price, minCover] of [
            [5_000_000n, 9],
            [4_000_000n, 9],
            [5_000_000n, 0],
        ] as const)
            expect(depositFor(slashed, TIERS, { price, minCover })).toBe(0n);
    });

    it('follows the fields that are changed alone', () => {
        const read = at(70_000n, 3);
        expect(coveredBy(listing, new Set<FieldName>(['price']), read)).toEqual(at(70_000n, 1));
        expect(coveredBy(listing, new Set<FieldName>(['minCover']), read)).toEqual(at(50_000n, 3));
    });
});

describe('the metadata document', () => {
    const document = readFields(GOOD, bookOf('mainnet')).listing?.document;
    if (document === undefined) throw new Error('not good');

    it('is one text for one meaning, and is read back exactly', async () => {
        const text = documentText(document);
        expect(text).toBe(
            documentText({ ...document, input_schema: JSON.parse(JSON.stringify(document.input_schema)) }),
        );
        expect(await hashOf(text)).toHaveLength(32);
        const { fields, others } = readDocument(text);
        expect([others, differences(GOOD, { ...GOOD, ...fields })]).toEqual([{}, []]);
    });

    it('keeps members that the marketplace does not know', () => {
        const { fields, others } = readDocument(
            JSON.stringify({ ...document, website: 'https://a.example', version: [1, { a: null }] }),
        );
        const next = readFields({ ...GOOD, ...fields, name: 'Other' }, bookOf('mainnet')).listing?.document;
        expect(next && JSON.parse(documentText(next, others))).toEqual({
            ...document,
            name: 'Other',
            website: 'https://a.example',
            version: [1, { a: null }],
        });
    });

    it('is not edited where a number would change', () => {
        expect(() => readDocument(`{"name": "x", "input_schema": {"maximum": 12345678901234567890}}`)).toThrow(
            'cannot be sent exactly',
        );
    });

    it('is filled in as far as its members are of the right kind', () => {
        expect(readDocument('{"name": 5, "tags": ["a", 1], "tagline": "t"}').fields).toMatchObject({
            name: '',
            tags: ['a'],
            tagline: 't',
            inputSchema: '',
        });
    });
});

describe('what the service refuses', () => {
    it('stands at its fields, and the rest in the message', () => {
        const { problems, message } = refused(
            '`name` must not be empty\n`input_schema` is not accepted: it has more than 1024 references\na schema cannot be compiled',
        );
        expect(problems).toEqual({
            name: 'The service says: it must not be empty.',
            inputSchema: 'The service says: it is not accepted: it has more than 1024 references.',
        });
        expect(message).toContain('a schema cannot be compiled');
    });
});

describe('a difference line by line', () => {
    it('has every removed and added line, and nothing else', () => {
        const text = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 }).map((lines) => lines.join('\n'));
        fc.assert(
            fc.property(text, text, (before, after) => {
                const lines = lineDiff(before, after);
                const of = (kind: string) => lines.filter((line) => line.kind === kind).map((line) => line.text);
                const [removed, added] = [of('removed'), of('added')];
                expect(before.split('\n').length - removed.length).toBe(after.split('\n').length - added.length);
                if (before === after) expect([removed, added]).toEqual([[], []]);
                expect(before.split('\n').join('|')).toContain(removed.join('|'));
                expect(after.split('\n').join('|')).toContain(added.join('|'));
            }),
        );
    });

    it('leaves out what is far from the change', () => {
        const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
        const found = lineDiff(lines.join('\n'), lines.with(10, 'other').join('\n'));
        expect(found.map(({ kind }) => kind)).toEqual([
            'left out',
            'same',
            'same',
            'removed',
            'added',
            'same',
            'same',
            'left out',
        ]);
        expect(found[0]?.text).toBe('8 lines left out');
    });
});
