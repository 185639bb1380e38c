// What the forms of a listing accept: the rules of the marketplace, said before anything is sent.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Fields } from '../../src/features/listing/form/fields';
import { repeatedMember } from '../../src/features/listing/form/repeatedMember';
import { readFields } from '../../src/features/listing/form/rules';
import { SchemaError, readSchema } from '../../src/features/listing/form/schemaText';
import { requiredCollateral } from '../../src/chain/collateral';
import { GOOD, TIERS, bookOf } from './support';

const problemsOf = (change: Partial<Fields>, network: 'local' | 'mainnet' = 'mainnet') =>
    readFields({ ...GOOD, ...change }, bookOf(network)).problems;

describe('a listing', () => {
    it('is read as a whole', () => {
        const { listing, problems } = readFields(GOOD, bookOf('mainnet'));
        expect(problems).toEqual({});
        expect(listing).toMatchObject({
            price: 50_000n,
            minCover: 1,
            collateral: 10_000_000n,
            timeoutSeconds: 60,
            binding: true,
            resultKey: GOOD.resultKey,
        });
        expect(listing?.document).toEqual({
            name: 'Counter',
            tagline: 'Counts words.',
            description: 'Send a text.',
            tags: ['data', 'own-tag'],
            endpoint: GOOD.endpoint,
            input_schema: JSON.parse(GOOD.inputSchema),
            output_schema: JSON.parse(GOOD.outputSchema),
        });
    });

    it.each<[string, Partial<Fields>]>([
        ['name', { name: ' \u00a0 ' }],
        ['name', { name: 'x'.repeat(81) }],
        ['name', { name: 'a\u0000b' }],
        ['name', { name: '\ud83d' }],
        ['tagline', { tagline: '\ud83d\ude00'.repeat(201) }],
        ['description', { description: '' }],
        ['tags', { tags: [] }],
        ['tags', { tags: ['a', 'b', 'c', 'd', 'e', 'f'] }],
        ['tags', { tags: ['Upper'] }],
        ['tags', { tags: ['a', 'a'] }],
        ['price', { price: '' }],
        ['price', { price: '0' }],
        ['price', { price: '0.000999' }],
        ['price', { price: '1000000.000001' }],
        ['price', { price: '1e3' }],
        ['minCover', { minCover: '' }],
        ['minCover', { minCover: '256' }],
        ['minCover', { minCover: '-1' }],
        ['minCover', { minCover: '1.5', collateral: '10' }],
        ['collateral', { collateral: '9.999999' }],
        ['collateral', { collateral: '12.699999', minCover: '254' }],
        ['collateral', { collateral: 'much' }],
        ['timeout', { timeout: '0' }],
        ['timeout', { timeout: '901' }],
        ['timeout', { timeout: '1.5' }],
        ['resultKey', { resultKey: '' }],
        ['resultKey', { resultKey: 'x' }],
        ['inputSchema', { inputSchema: '' }],
        ['outputSchema', { outputSchema: '"text"' }],
    ])('names a wrong %s alone', (name, change) => {
        expect(Object.keys(problemsOf(change))).toEqual([name]);
        expect(readFields({ ...GOOD, ...change }, bookOf('mainnet')).listing).toBeNull();
    });

    it('locks what the promised cover needs', () => {
        expect(readFields({ ...GOOD, minCover: '255' }, bookOf('mainnet')).listing).toMatchObject({
            minCover: 255,
            collateral: 12_750_000n,
        });
        expect(readFields({ ...GOOD, minCover: '0' }, bookOf('mainnet')).listing).toMatchObject({
            minCover: 0,
            collateral: 10_000_000n,
        });
    });

    it('counts characters as the service does', () => {
        expect(
            problemsOf({
                name: '\ud83d\ude00'.repeat(80),
                tagline: '\ud83d\ude00'.repeat(200),
                description: 'line\r\n\ttab',
            }),
        ).toEqual({});
    });

    it.each([
        'http://agent.example.com/x',
        'https://localhost/x',
        'https://agent/x',
        'https://a.internal/x',
        'https://user@agent.example.com/x',
        'https://agent.example.com:8443/x',
        'ftp://agent.example.com',
        'agent.example.com',
        'https://',
        'https:/agent.example.com',
        `https://agent.example.com/${'x'.repeat(2_048)}`,
    ])('is not callable at %s', (endpoint) => expect(Object.keys(problemsOf({ endpoint }))).toEqual(['endpoint']));

    it('may be on any address of a local network', () => {
        for (const endpoint of ['http://127.0.0.1:4021/execute', 'http://localhost:1/x'])
            expect(problemsOf({ endpoint }, 'local')).toEqual({});
    });

    it('has a problem of the price once, although the collateral follows from it', () => {
        expect(Object.keys(problemsOf({ price: 'x', collateral: '10' }))).toEqual(['price']);
    });
});

describe('the collateral of a price', () => {
    it('is the one of the first tier that holds it, and at least the price', () => {
        const amounts = fc.bigInt({ min: 1n, max: 1_000_000_000_000n });
        fc.assert(
            fc.property(amounts, (price) => {
                const tier = price <= 100_000n ? 10n : price <= 1_000_000n ? 50n : price <= 10_000_000n ? 200n : 1_000n;
                const locked = tier * 1_000_000n;
                expect(requiredCollateral(TIERS, { price, minCover: 1 })).toBe(locked > price ? locked : price);
            }),
        );
    });

    it('follows the last tier above all others', () => {
        const low = [
            { maxPrice: 10n, collateral: 1n },
            { maxPrice: 20n, collateral: 2_000n },
        ];
        expect(requiredCollateral(low, { price: 21n, minCover: 1 })).toBe(2_000n);
        expect(requiredCollateral(low, { price: 3_000n, minCover: 1 })).toBe(3_000n);
    });
});

describe('a schema', () => {
    it.each([
        '{}',
        '{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://a.example/x", "type": ["string", "null"]}',
        '{"$schema": "http://json-schema.org/draft-07/schema#"}',
        '{"properties": {"$ref": {"type": "string"}, "pattern": {"type": "integer"}, "type": {"const": 1}, "$schema": true}}',
        '{"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"$anchor": "here"}}, "items": {"$ref": "#here"}}',
        '{"properties": {"next": {"$ref": "#"}}}',
        '{"pattern": "(?i)a\\\\d+", "patternProperties": {"^x-": true}}',
        '{"const": {"$dynamicRef": "#x", "type": "nonsense"}, "enum": [{"pattern": "("}], "default": {"$ref": "https://a.example"}}',
        '{"x-own": {"type": "nonsense"}, "format": "unknown", "dependencies": {"a": ["b"]}}',
    ])('is accepted: %s', (text) => expect(readSchema(text)).toEqual(JSON.parse(text)));

    it.each([
        '',
        '{',
        'null',
        '{"type": "text"}',
        '{"type": []}',
        '{"properties": []}',
        '{"properties": {"a": 1}}',
        '{"required": "a"}',
        '{"required": [1]}',
        '{"enum": []}',
        '{"anyOf": []}',
        '{"minLength": -1}',
        '{"maximum": "3"}',
        '{"multipleOf": 0}',
        '{"pattern": "("}',
        '{"pattern": "(a)\\\\1"}',
        '{"pattern": "(?<!a)b"}',
        '{"$dynamicRef": "#a"}',
        '{"$ref": "#/$defs/none"}',
        '{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}',
        '{"$defs": {"a": {"$id": "https://a.example"}}}',
        '{"$defs": {"a": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}}',
        '{"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}',
        '{"default": 9007199254740993}',
        `{"description": "${'x'.repeat(128 * 1024)}"}`,
        `${'{"not":'.repeat(64)}{}${'}'.repeat(64)}`,
    ])('is refused with a sentence: %s', (text) => expect(() => readSchema(text)).toThrow(SchemaError));

    it('is read or refused, whatever is written', () => {
        const keywords = fc.constantFrom(
            'type',
            'properties',
            'items',
            '$ref',
            'pattern',
            'required',
            'allOf',
            '$id',
            'enum',
            'minimum',
            '__proto__',
            'constructor',
        );
        const { schema } = fc.letrec((tie) => ({
            schema: fc.oneof(
                { depthSize: 'small' },
                fc.boolean(),
                fc.string(),
                fc.integer(),
                fc.array(tie('schema')),
                fc.dictionary(keywords, tie('schema')),
            ),
        }));
        fc.assert(
            fc.property(schema, (value) => {
                try {
                    readSchema(JSON.stringify(value));
                } catch (error) {
                    expect(error).toBeInstanceOf(SchemaError);
                }
            }),
        );
    });
});

describe('a member that stands twice', () => {
    it('is found wherever it is, however it is spelled', () => {
        expect(repeatedMember('{"a": 1, "b": {"c": [{"d": 1, "\\u0064": 2}]}}')).toBe('d');
        expect(repeatedMember('{"a": {"a": 1}, "b": [{"a": 1}, {"a": "a"}], "c": "a,\\"a\\":"}')).toBeNull();
    });

    it('is none in what a computer has written', () => {
        fc.assert(
            fc.property(fc.json(), (json) => {
                expect(repeatedMember(json)).toBeNull();
            }),
        );
    });
});
