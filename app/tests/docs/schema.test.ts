// Schemas of an OpenAPI document without their references, whatever the document is.

import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

import { exampleOf } from '../../src/features/agent/example';
import { schemaRows } from '../../src/features/agent/schemaRows';
import { filtered, readReference } from '../../src/features/docs/reference';
import { formsOf, plainSchema } from '../../src/features/docs/schema';

const own: unknown = JSON.parse(readFileSync(path.resolve(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'));

const withSchemas = (schemas: unknown) => ({ components: { schemas } });
const to = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const rowsOf = (schema: unknown, document: unknown) =>
    schemaRows(plainSchema(schema, document), { rows: 400, choices: 60 }).rows;

test('a reference, a list of it and a nullable one show the fields and the description that stands beside', () => {
    const document = withSchemas({
        Point: { type: 'object', required: ['x'], properties: { x: { type: 'integer', minimum: 1 } } },
        Line: {
            type: 'object',
            properties: {
                from: { ...to('Point'), description: 'Its start.' },
                all: { type: 'array', items: to('Point') },
                end: { oneOf: [{ ...to('Point'), description: 'Its end.' }, { type: 'null' }] },
            },
        },
    });
    expect(
        rowsOf(to('Line'), document).map(({ path: at, type, required, description }) => [
            at,
            type,
            required,
            description,
        ]),
    ).toEqual([
        ['/from', 'object', false, 'Its start.'],
        ['/from/x', 'whole number', true, ''],
        ['/all', 'list of object', false, ''],
        ['/all/x', 'whole number', true, ''],
        ['/end', 'object or null', false, 'Its end.'],
        ['/end/x', 'whole number', true, ''],
    ]);
});

test('combined schemas have the fields of all parts, and alternatives require only what each requires', () => {
    const one = {
        type: 'object',
        required: ['id', 'a'],
        properties: { id: { type: 'string' }, a: { type: 'string' } },
    };
    const other = { type: 'object', required: ['id'], properties: { id: { type: 'string' }, b: { type: 'string' } } };
    const document = withSchemas({ One: one, Other: other });
    const required = (schema: unknown) =>
        rowsOf(schema, document).map((row) => `${row.name}${row.required ? '!' : ''}`);
    expect(required({ allOf: [to('One'), to('Other')] })).toEqual(['id!', 'a!', 'b']);
    expect(required({ oneOf: [to('One'), to('Other')] })).toEqual(['id!', 'a', 'b']);
    expect(formsOf({ oneOf: [to('One'), to('Other')] }, document)).toHaveLength(2);
    expect(formsOf({ anyOf: [to('One'), { type: 'null' }] }, document)).toHaveLength(1);
});

test('a schema that contains itself ends, and says so', () => {
    const document = withSchemas({
        Tree: {
            type: 'object',
            required: ['left'],
            properties: { left: to('Tree'), all: { type: 'array', items: to('Forest') } },
        },
        Forest: { type: 'object', properties: { tree: to('Tree') } },
        Self: { ...to('Self') },
        A: to('B'),
        B: to('A'),
        Both: { allOf: [to('Both')], oneOf: [to('Both'), to('Both')] },
    });
    const rows = rowsOf(to('Tree'), document);
    expect(rows.find(({ path: at }) => at === '/left')?.description).toBe('The same fields again.');
    expect(rows.length).toBeLessThan(10);
    for (const name of ['Self', 'A', 'Both']) expect(rowsOf(to(name), document)).toEqual([]);
    expect(exampleOf(plainSchema(to('Tree'), document))).toEqual({ left: {} });
});

test('what a reference does not lead to is said to be missing', () => {
    const document = withSchemas({ A: {} });
    for (const $ref of [
        '#/components/schemas/None',
        '#/components/schemas/A/__proto__',
        '#/components/constructor',
        'https://other.example/x',
        '',
        '#',
    ]) {
        expect(plainSchema({ $ref }, document)['description'], $ref).toBe('The document does not describe it.');
    }
});

test('ten thousand levels, ten thousand references and ten thousand choices cost little', () => {
    let deep: unknown = { type: 'string' };
    for (let level = 0; level < 10_000; level += 1)
        deep = { type: 'object', required: ['a'], properties: { a: deep }, allOf: [deep], default: deep };
    const chain = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`S${index}`, to(`S${index + 1}`)]));
    const wide = {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`p${index}`, { type: 'string' }])),
    };
    const choices = {
        type: 'string',
        enum: Array.from({ length: 10_000 }, (_, index) => `choice ${index}`),
        description: 'x'.repeat(100_000),
    };
    // Each of 20 parts has each of 20 parts, and so on.
    const fan = Object.fromEntries(
        Array.from({ length: 12 }, (_, index) => [
            `F${index}`,
            { allOf: Array.from({ length: 20 }, () => to(`F${index + 1}`)) },
        ]),
    );
    for (const [schema, document] of [
        [deep, {}],
        [to('S0'), withSchemas(chain)],
        [wide, {}],
        [{ type: 'object', properties: { choices } }, {}],
        [to('F0'), withSchemas(fan)],
    ] as const) {
        const plain = plainSchema(schema, document);
        expect(JSON.stringify(plain).length).toBeLessThan(300_000);
        expect(schemaRows(plain, { rows: 400, choices: 60 }).rows.length).toBeLessThanOrEqual(400);
        expect(JSON.stringify(exampleOf(plain)).length).toBeLessThan(10_000);
        expect(formsOf(schema, document).length).toBeLessThanOrEqual(20);
    }
});

test('any JSON in the place of a document is read without an error, and bounded', () => {
    const names = fc.constantFrom(
        'paths',
        '/v1/x',
        'get',
        'parameters',
        'responses',
        'schema',
        'content',
        'properties',
        'oneOf',
        'allOf',
        '$ref',
        'type',
        'enum',
        '__proto__',
        'security',
    );
    const { json } = fc.letrec((tie) => ({
        json: fc.oneof(
            { maxDepth: 6 },
            fc.constantFrom(null, true, 1, '#/paths', '#/paths/~1v1~1x', 'array', 'null'),
            fc.array(tie('json'), { maxLength: 4 }),
            fc.dictionary(names, tie('json'), { maxKeys: 5 }),
        ),
    }));
    fc.assert(
        fc.property(json, (document) => {
            const { operations } = readReference(document);
            for (const { parameters, body, answers } of operations) {
                const schemas = [...parameters, ...answers, ...(body === null ? [] : [body])].map(
                    ({ schema }) => schema,
                );
                for (const schema of schemas) for (const form of formsOf(schema, document)) schemaRows(form);
            }
            expect(filtered(operations, 'a b')).toBeInstanceOf(Array);
            schemaRows(plainSchema(document, document));
        }),
    );
});

test('every operation of this service has an anchor of its own, rows for what it takes and answers, and an example that its required fields fill', () => {
    const { operations, document, schemes } = readReference(own);
    const paths = Object.values((own as { paths: Record<string, object> }).paths);
    expect(operations).toHaveLength(paths.flatMap((item) => Object.keys(item)).length);
    expect(new Set(operations.map(({ anchor }) => anchor)).size).toBe(operations.length);
    expect(operations.map(({ anchor }) => anchor)).toContain('get-v1-agents');
    expect(schemes.map(({ name }) => name)).toEqual(['api_key', 'session', 'session_cookie']);
    for (const { anchor, body, answers } of operations) {
        for (const schema of [body?.schema, ...answers.map((answer) => answer.schema)]) {
            if (schema === undefined) continue;
            for (const form of formsOf(schema, document)) {
                expect(form['type'] ?? form['properties'], anchor).toBeDefined();
                expect(JSON.stringify(form), anchor).not.toContain('The document does not describe it.');
                expect(schemaRows(form, { rows: 400, choices: 60 }).more, anchor).toBe(false);
            }
        }
        if (body?.type !== 'application/json') continue;
        const [form = {}] = formsOf(body.schema, document);
        expect(Object.keys(exampleOf(form)), anchor).toEqual(
            expect.arrayContaining((form['required'] ?? []) as string[]),
        );
    }
});

test('the filter finds operations by path, words and error codes', () => {
    const { operations } = readReference(own);
    const anchors = (words: string) => filtered(operations, words).map(({ anchor }) => anchor);
    expect(anchors('insufficient_balance')).toEqual(['post-v1-agents-agent_id-execute']);
    expect(anchors('POST /v1/keys')).toEqual(['post-v1-keys']);
    expect(anchors('revoke KEY')).toContain('delete-v1-keys-session_public_key');
    expect(anchors('nothing of these words')).toEqual([]);
    expect(anchors('')).toHaveLength(operations.length);
});

test('the folded line is the first sentence, and nothing of the rest is lost', () => {
    const read = (summary: string, description?: string) => {
        const [operation] = readReference({ paths: { '/x': { get: { summary, description } } } }).operations;
        return [operation?.summary, operation?.description];
    };
    expect(read('Stores it. At most 1.5 MiB.\nReally.', 'More.')).toEqual([
        'Stores it.',
        'At most 1.5 MiB.\nReally.\n\nMore.',
    ]);
    expect(read('At most 1.5 MiB.')).toEqual(['At most 1.5 MiB.', '']);
    expect(read('no end')).toEqual(['no end', '']);
    expect(read('')).toEqual(['', '']);
});
