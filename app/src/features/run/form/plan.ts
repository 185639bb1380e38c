// A form from a JSON Schema. The schema is a stranger's: what it can make of the page is bounded by the constants here,
// and whatever has no field of its own is written as JSON. The schema decides nothing else; `check.ts` checks the
// value.

import { type Json, isObject } from './json';

/** Fields of a form; what is left is written as JSON. */
const MAX_FIELDS = 100;
/** Groups and lists inside one another. */
const MAX_LEVELS = 4;
/** Choices of one field. */
const MAX_OPTIONS = 200;
/** References that lead to one another. */
const MAX_REFERENCES = 8;
/** Characters of a title, and of a description. */
const MAX_TITLE = 120;
const MAX_DESCRIPTION = 2_000;
/** Longest texts that fit one line. */
const ONE_LINE = 120;

type Words = { readonly title: string | null; readonly description: string | null; readonly preset?: Json | undefined };

export type Option = { readonly value: Json; readonly label: string };

export type Member = { readonly name: string; readonly required: boolean; readonly field: Field };

export type Field = Words &
    (
        | { readonly kind: 'text'; readonly long: boolean }
        | { readonly kind: 'number'; readonly whole: boolean }
        | { readonly kind: 'flag' }
        | { readonly kind: 'choice'; readonly options: readonly Option[] }
        | { readonly kind: 'list'; readonly item: Field }
        | { readonly kind: 'group'; readonly members: readonly Member[] }
        | { readonly kind: 'json' }
    );

export type Group = Extract<Field, { kind: 'group' }>;

type Schema = Record<string, unknown>;
type Reading = { readonly root: Schema; left: number };

/** The form of the parameters, or `null` if they are written as JSON as a whole. */
export function planOf(schema: unknown): Group | null {
    if (!isObject(schema)) return null;
    const field = fieldOf(schema, { root: schema, left: MAX_FIELDS }, 0);
    return field.kind === 'group' ? field : null;
}

function fieldOf(given: unknown, reading: Reading, level: number): Field {
    const schema = resolved(given, reading.root);
    const words = wordsOf(given, schema);
    reading.left -= 1;
    if (schema === null || reading.left < 0) return { ...words, kind: 'json' };
    const options = optionsOf(schema);
    if (options !== null) return { ...words, kind: 'choice', options };
    switch (typeOf(schema)) {
        case 'string':
            return {
                ...words,
                kind: 'text',
                long: !(number(schema['maxLength']) <= ONE_LINE) && schema['format'] === undefined,
            };
        case 'integer':
        case 'number':
            return { ...words, kind: 'number', whole: typeOf(schema) === 'integer' };
        case 'boolean':
            return { ...words, kind: 'flag' };
        case 'array':
            return listOf(schema, words, reading, level);
        case 'object':
            return groupOf(schema, words, reading, level);
        default:
            return { ...words, kind: 'json' };
    }
}

function listOf(schema: Schema, words: Words, reading: Reading, level: number): Field {
    if (!isObject(schema['items']) || level >= MAX_LEVELS) return { ...words, kind: 'json' };
    return { ...words, kind: 'list', item: fieldOf(schema['items'], reading, level + 1) };
}

function groupOf(schema: Schema, words: Words, reading: Reading, level: number): Field {
    const properties = schema['properties'] ?? {};
    if (!isObject(properties) || level >= MAX_LEVELS) return { ...words, kind: 'json' };
    const names = Object.keys(properties);
    const isOpen = names.length === 0 && schema['additionalProperties'] !== false;
    if (isOpen || names.length > reading.left) return { ...words, kind: 'json' };
    const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
    const members = names.map((name) => ({
        name,
        required: required.has(name),
        field: fieldOf(own(properties, name), reading, level + 1),
    }));
    return { ...words, kind: 'group', members };
}

/** The schema behind references within the document; `null` for one that says nothing or cannot be followed. */
function resolved(given: unknown, root: Schema): Schema | null {
    let schema = given;
    for (let hops = 0; hops <= MAX_REFERENCES; hops += 1) {
        if (!isObject(schema)) return null;
        const reference = schema['$ref'];
        if (typeof reference !== 'string') return schema;
        schema = pointed(root, reference);
    }
    return null;
}

function pointed(root: Schema, reference: string): unknown {
    if (reference === '#') return root;
    if (!reference.startsWith('#/')) return null;
    let found: unknown = root;
    for (const part of reference.slice(2).split('/')) {
        const name = decoded(part);
        if (typeof found !== 'object' || found === null || name === null || !Object.hasOwn(found, name)) return null;
        found = (found as Schema)[name];
    }
    return found;
}

function decoded(part: string): string | null {
    try {
        return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    } catch {
        return null;
    }
}

/** The one type of the values. A value that may also be null counts as one that may be left out. */
function typeOf(schema: Schema): unknown {
    const { type } = schema;
    if (!Array.isArray(type)) return type ?? (isObject(schema['properties']) ? 'object' : undefined);
    const others = type.filter((name) => name !== 'null');
    return others.length === 1 ? others[0] : undefined;
}

function optionsOf(schema: Schema): Option[] | null {
    if (Object.hasOwn(schema, 'const')) return labelled([schema['const']]);
    if (Array.isArray(schema['enum'])) return labelled(schema['enum']);
    const branches = schema['oneOf'] ?? schema['anyOf'];
    if (!Array.isArray(branches) || branches.length > MAX_OPTIONS) return null;
    const constants = branches.filter((branch) => isObject(branch) && Object.hasOwn(branch, 'const')) as Schema[];
    if (constants.length === 0 || constants.length < branches.length) return null;
    const options = labelled(constants.map((branch) => branch['const']));
    return (
        options?.map((option, index) => ({
            ...option,
            label: textOf(constants[index]?.['title'], MAX_TITLE) ?? option.label,
        })) ?? null
    );
}

function labelled(values: readonly unknown[]): Option[] | null {
    const isPlain = values.every((value) => value === null || ['string', 'number', 'boolean'].includes(typeof value));
    if (!isPlain || values.length === 0 || values.length > MAX_OPTIONS) return null;
    return values.map((value) => {
        const text = typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
        return { value: value as Json, label: text.slice(0, MAX_TITLE) };
    });
}

/** The title and description beside a reference come before those of the schema that it refers to. */
function wordsOf(given: unknown, schema: Schema | null): Words {
    const outer = isObject(given) ? given : {};
    const word = (name: string): unknown => outer[name] ?? schema?.[name];
    return {
        title: textOf(word('title'), MAX_TITLE),
        description: textOf(word('description'), MAX_DESCRIPTION),
        preset: word('default') as Json | undefined,
    };
}

function textOf(value: unknown, length: number): string | null {
    if (typeof value !== 'string' || value.trim() === '') return null;
    return value.length > length ? `${Array.from(value.slice(0, length)).join('')}\u2026` : value;
}

const number = (value: unknown): number => (typeof value === 'number' ? value : Infinity);
const own = (object: Schema, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);
