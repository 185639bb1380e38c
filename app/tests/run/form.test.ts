// The form that a stranger's schema makes, what is written in it, and the check of it.

import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { requestHash, requestProblem } from '../../src/features/run/call/request';
import { problemsOf } from '../../src/features/run/form/check';
import { draftOf, emptyDraft, readForm } from '../../src/features/run/form/draft';
import { type Json, canonical, readJson } from '../../src/features/run/form/json';
import { parametersDraft, readParameters } from '../../src/features/run/form/parameters';
import { type Field, type Group, planOf } from '../../src/features/run/form/plan';

const schema = (properties: Record<string, unknown>, required: string[] = []) => ({
    type: 'object',
    properties,
    required,
    additionalProperties: false,
});
const formOf = (given: unknown): Group => {
    const form = planOf(given);
    if (form === null) throw new Error('no form');
    return form;
};
const countOf = (field: Field): number =>
    1 +
    (field.kind === 'group'
        ? field.members.reduce((sum, member) => sum + countOf(member.field), 0)
        : field.kind === 'list'
          ? countOf(field.item)
          : 0);

describe('the plan of a form', () => {
    it('has a field for every simple kind of value', () => {
        const kinds = formOf(
            schema({
                text: { type: 'string' },
                count: { type: 'integer' },
                share: { type: 'number' },
                flag: { type: 'boolean' },
                choice: { enum: ['a', 1, null] },
                named: { oneOf: [{ const: 'x', title: 'The X' }, { const: 'y' }] },
                many: { type: 'array', items: { type: 'string' } },
                inner: schema({ a: { $ref: '#/$defs/b' } }),
                maybe: { type: ['string', 'null'] },
                other: { anyOf: [{ type: 'string' }, { type: 'number' }] },
            }),
        ).members.map(({ name, field }) => [name, field.kind]);
        expect(Object.fromEntries(kinds)).toEqual({
            text: 'text',
            count: 'number',
            share: 'number',
            flag: 'flag',
            choice: 'choice',
            named: 'choice',
            many: 'list',
            inner: 'group',
            maybe: 'text',
            other: 'json',
        });
    });

    it('ends for a schema that refers to itself', () => {
        const form = formOf({
            type: 'object',
            properties: { again: { $ref: '#' }, more: { type: 'array', items: { $ref: '#' } } },
        });
        expect(countOf(form)).toBeLessThan(300);
        expect(planOf({ $ref: '#' })).toBeNull();
    });

    it('stays small for any schema', () => {
        const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}`, { type: 'string' }]));
        expect(planOf(schema(wide))).toBeNull();
        const nested = Array.from({ length: 9 }).reduce<unknown>((inner) => schema({ a: inner, b: inner, c: inner }), {
            type: 'string',
        });
        expect(countOf(formOf(nested))).toBeLessThan(400);
        const options = formOf(schema({ a: { enum: Array.from({ length: 20_000 }, (_, index) => index) } }));
        expect(options.members[0]?.field.kind).not.toBe('choice');
    });

    it('never throws, whatever the schema is', () => {
        fc.assert(
            fc.property(
                fc.jsonValue({ maxDepth: 8 }),
                (value) => void planOf({ type: 'object', properties: value, $defs: value }),
            ),
        );
    });

    it('keeps members with the names of what every object has', () => {
        const form = formOf(
            JSON.parse(
                '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
            ),
        );
        const { parameters } = readForm(form, ['a', 'b']);
        expect(JSON.stringify(parameters)).toBe('{"__proto__":"a","constructor":"b"}');
        expect(({} as Record<string, unknown>)['a']).toBeUndefined();
    });
});

describe('what is written in a form', () => {
    const form = formOf(
        schema(
            {
                n: { type: 'integer', default: 5 },
                s: { type: 'string' },
                l: { type: 'array', items: { type: 'number' } },
                b: { type: 'boolean' },
            },
            ['s'],
        ),
    );

    it('starts with the defaults, and leaves out what is empty', () => {
        expect(emptyDraft(form)).toEqual(['5', '', [], '']);
        expect(readForm(form, ['5', 'x', [], ''])).toEqual({ parameters: { n: 5, s: 'x' }, problems: [] });
        expect(readForm(form, ['', '', [], '']).problems).toEqual([{ at: '/s', message: 'Fill this in.' }]);
    });

    it('refuses numbers that cannot be sent exactly', () => {
        for (const bad of ['1,5', '1e3', '9007199254740993', 'x', '0x10']) {
            expect(readForm(form, [bad, 'x', [], '']).problems.map(({ at }) => at)).toEqual(['/n']);
        }
        expect(readForm(form, ['1.5', 'x', [], '']).problems).toHaveLength(1);
    });

    it('reads back every value that it made', () => {
        const value = fc.record({
            n: fc.maxSafeInteger(),
            s: fc.string({ minLength: 1 }).filter((text) => text.trim() !== ''),
            l: fc.array(fc.integer(), { minLength: 1 }),
            b: fc.boolean(),
        });
        fc.assert(
            fc.property(value, (parameters) => {
                const draft = draftOf(form, parameters);
                expect(draft === null ? parameters : readForm(form, draft).parameters).toEqual(parameters);
            }),
        );
    });

    it('stays JSON if the fields cannot show it', () => {
        expect(draftOf(form, { s: 'x', unknown: 1 })).toBeNull();
        const draft = parametersDraft(form, { unknown: 1 });
        expect(draft.as).toBe('json');
        expect(readParameters(form, draft).parameters).toEqual({ unknown: 1 });
        expect(readParameters(form, { as: 'json', text: '[1]' }).problems).toHaveLength(1);
        expect(readParameters(form, { as: 'json', text: '{' }).problems).toHaveLength(1);
    });
});

describe('the check against a schema', () => {
    const given = schema(
        { n: { type: 'integer', minimum: 1 }, list: { type: 'array', items: { type: 'string', maxLength: 2 } } },
        ['n'],
    );

    it('names the place of every problem', () => {
        expect(problemsOf(given, { n: 1, list: ['a'] })).toEqual([]);
        expect(problemsOf(given, {})).toEqual([{ at: '/n', message: 'Fill this in.' }]);
        expect(problemsOf(given, { n: 0, list: ['a', 'abc'] }).map(({ at }) => at)).toEqual(['/n', '/list/1']);
        expect(problemsOf(given, { n: 1, other: 2 })).toEqual([{ at: '/other', message: 'This is not allowed here.' }]);
    });

    it('shows a bounded number of bounded problems, and leaves the schema as it was', () => {
        const many = problemsOf(given, { n: 1, list: Array.from({ length: 500 }, () => 'abc') });
        expect(many.length).toBeLessThanOrEqual(30);
        const long = problemsOf({ const: 'x'.repeat(10_000) }, 1);
        expect(long[0]?.message.length).toBeLessThanOrEqual(300);
        expect(given).toEqual(
            schema(
                {
                    n: { type: 'integer', minimum: 1 },
                    list: { type: 'array', items: { type: 'string', maxLength: 2 } },
                },
                ['n'],
            ),
        );
    });
});

describe('the request', () => {
    const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

    it('has the hash that the program stores', async () => {
        // crates/protocol/src/request_hash.rs: SHA-256 of {"parameters":{},"task":"hi"}.
        const expected = await crypto.subtle.digest(
            'SHA-256',
            new TextEncoder().encode('{"parameters":{},"task":"hi"}'),
        );
        expect(hex(await requestHash({ task: 'hi', parameters: {} }))).toBe(hex(new Uint8Array(expected)));
    });

    it('has one form, whatever the order of members and the spelling of numbers', () => {
        expect(canonical(readJson('{"b":1.0,"a":"\\u0041","c":[1e1,-0]}'))).toBe('{"a":"A","b":1,"c":[10,0]}');
        expect(canonical(readJson('{"\\ud83d\\ude00":1,"\\ufb33":2}'))).toBe('{"\ud83d\ude00":1,"\ufb33":2}');
        fc.assert(
            fc.property(fc.jsonValue(), (value) => {
                expect(JSON.parse(canonical(value as Json))).toEqual(JSON.parse(JSON.stringify(value)));
            }),
        );
    });

    it('has numbers that the service takes, and no others', () => {
        const file = new URL('../../../tests/vectors/numbers.json', import.meta.url);
        const { exact, changed } = JSON.parse(readFileSync(file, 'utf8')) as { exact: string[]; changed: string[] };
        expect(exact.length * changed.length).toBeGreaterThan(0);
        for (const number of exact) expect(readJson(`[{"a":${number}}]`), number).toEqual([{ a: Number(number) }]);
        for (const number of changed) expect(() => readJson(`[{"a":${number}}]`), number).toThrow('Send it as text');
    });

    it('is refused if it is empty, too large, or has no canonical form', () => {
        expect(requestProblem({ task: ' ', parameters: {} })).not.toBeNull();
        expect(requestProblem({ task: '\ud800', parameters: {} })).not.toBeNull();
        expect(requestProblem({ task: 'x'.repeat(1024 * 1024), parameters: {} })).not.toBeNull();
        expect(requestProblem({ task: 'x', parameters: { a: 1 } })).toBeNull();
        for (const bad of [
            '9007199254740993',
            '{"a":1e400}',
            '[0.12345678901234567890]',
            '['.repeat(100) + ']'.repeat(100),
        ]) {
            expect(() => readJson(bad), bad).toThrow();
        }
    });
});
