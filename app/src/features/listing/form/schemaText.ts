// Whether the marketplace accepts a text as a JSON Schema ("Accepted schemas" in docs/specification.md), said while the
// user writes it. The service decides in the end, because only it compiles the schema.

import { type Json, JsonError, type JsonObject, isObject, readJson } from '../../run';
import { repeatedMember } from './repeatedMember';
import { words } from '../words';

export type SchemaLimits = { readonly maxBytes: number; readonly maxDepth: number };

/** The service's limits, if the network does not name others. */
export const SCHEMA_LIMITS: SchemaLimits = { maxBytes: 128 * 1024, maxDepth: 64 };

const MAX_SUBSCHEMAS = 4_096;
const MAX_REFERENCES = 1_024;
const MAX_PATTERNS = 128;
const MAX_PATTERN_BYTES = 1_024;
const QUOTED = 80;

/** Why a text is no schema that can be listed; the message is for the creator. */
export class SchemaError extends Error {}

/** Reads a schema, or throws a `SchemaError`. */
export function readSchema(text: string, { maxBytes, maxDepth } = SCHEMA_LIMITS): JsonObject {
    if (text.trim() === '') throw new SchemaError(words.schemaText.empty);
    const schema = jsonOf(text);
    if (!isObject(schema)) throw new SchemaError(words.schemaText.noObject);
    if (new TextEncoder().encode(JSON.stringify(schema)).length > maxBytes) {
        throw new SchemaError(words.schemaText.tooLarge(Math.floor(maxBytes / 1024)));
    }
    if (depthOf(schema) > maxDepth) throw new SchemaError(words.schemaText.tooDeep(maxDepth));
    new Walk(schema).run();
    return schema;
}

function jsonOf(text: string): Json {
    try {
        const value = readJson(text);
        const twice = repeatedMember(text);
        if (twice !== null) throw new JsonError(words.schemaText.twice(quoted(twice)));
        return value;
    } catch (error) {
        if (error instanceof JsonError) throw new SchemaError(error.message);
        throw error;
    }
}

function depthOf(root: Json): number {
    let deepest = 0;
    const waiting: [Json, number][] = [[root, 1]];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [value, depth] = next;
        deepest = Math.max(deepest, depth);
        if (typeof value === 'object' && value !== null)
            for (const member of Object.values(value)) waiting.push([member, depth + 1]);
    }
    return deepest;
}

const DRAFT = /^https?:\/\/json-schema\.org\/(draft-0[467]|draft\/(2019-09|2020-12))\/schema#?$/;
const REFUSED = ['$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', '$vocabulary'];
const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']);
/** Keywords whose values are data and not schemas. */
const DATA = new Set(['const', 'enum', 'default', 'examples', 'example']);
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);
const SCHEMAS = new Set([
    'additionalProperties',
    'propertyNames',
    'contains',
    'not',
    'if',
    'then',
    'else',
    'unevaluatedItems',
    'unevaluatedProperties',
]);
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const COUNTS = new Set([
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
    'minContains',
    'maxContains',
]);
const NUMBERS = new Set(['minimum', 'maximum', 'multipleOf']);
const TEXTS = new Set([
    'title',
    'description',
    'format',
    'pattern',
    '$ref',
    '$anchor',
    '$comment',
    'contentMediaType',
    'contentEncoding',
]);

/** Visits every subschema once. */
class Walk {
    readonly #anchors = new Set<string>();
    readonly #references: { readonly reference: string; readonly at: string }[] = [];
    readonly #schemas = new Set<unknown>();
    readonly #patterns = new Set<string>();

    constructor(readonly root: Record<string, unknown>) {}

    run(): void {
        this.#schema(this.root, '');
        for (const { reference, at } of this.#references) this.#follow(reference, at);
    }

    #schema(value: unknown, at: string): void {
        if (typeof value === 'boolean') return void this.#schemas.add(value);
        if (!isObject(value)) throw wrong(at, words.schemaText.isSchema);
        this.#schemas.add(value);
        if (this.#schemas.size > MAX_SUBSCHEMAS) throw new SchemaError(words.schemaText.tooManySchemas(MAX_SUBSCHEMAS));
        for (const [keyword, member] of Object.entries(value))
            this.#keyword(keyword, member, `${at}/${keyword}`, at === '');
    }

    #keyword(keyword: string, value: unknown, at: string, isRoot: boolean): void {
        if (REFUSED.includes(keyword)) throw new SchemaError(words.schemaText.refused(place(at)));
        if (keyword === '$schema' || keyword === '$id' || keyword === 'id')
            return this.#name(keyword, value, at, isRoot);
        if (keyword === 'type') return this.#type(value, at);
        if (DATA.has(keyword)) {
            if (keyword === 'enum' && (!Array.isArray(value) || value.length === 0))
                throw wrong(at, words.schemaText.isValues);
            return;
        }
        if (MAPS.has(keyword)) return this.#map(keyword, value, at);
        if (LISTS.has(keyword) || (keyword === 'items' && Array.isArray(value))) return this.#list(value, at);
        if (SCHEMAS.has(keyword) || keyword === 'items') return this.#schema(value, at);
        if (keyword === 'required') {
            if (!isTexts(value)) throw wrong(at, words.schemaText.isNames);
            return;
        }
        this.#plain(keyword, value, at);
    }

    #plain(keyword: string, value: unknown, at: string): void {
        if (COUNTS.has(keyword) && !(Number.isInteger(value) && Number(value) >= 0))
            throw wrong(at, words.schemaText.isCount);
        if (NUMBERS.has(keyword) && typeof value !== 'number') throw wrong(at, 'a number');
        if (keyword === 'multipleOf' && !(Number(value) > 0)) throw wrong(at, words.schemaText.isPositive);
        if (keyword === 'uniqueItems' && typeof value !== 'boolean') throw wrong(at, 'true or false');
        if (!TEXTS.has(keyword)) return;
        if (typeof value !== 'string') throw wrong(at, 'a text');
        if (keyword === 'pattern') this.#pattern(value, at);
        if (keyword === '$anchor') this.#anchor(value, at);
        if (keyword === '$ref') this.#references.push({ reference: value, at });
        if (this.#references.length > MAX_REFERENCES)
            throw new SchemaError(words.schemaText.tooManyRefs(MAX_REFERENCES));
    }

    #name(keyword: string, value: unknown, at: string, isRoot: boolean): void {
        // `id` is a keyword of draft 4 alone. Elsewhere it is an unknown word, and as the name of a property it is no
        // keyword.
        if (keyword === 'id') return;
        if (typeof value !== 'string') throw wrong(at, 'a text');
        if (keyword === '$schema') {
            if (!isRoot) throw new SchemaError(words.schemaText.topOnly(place(at)));
            if (!DRAFT.test(value)) throw new SchemaError(words.schemaText.badDraft(quoted(value)));
        } else if (!isRoot && !value.startsWith('#')) {
            throw new SchemaError(words.schemaText.topOnly(place(at)));
        }
    }

    #type(value: unknown, at: string): void {
        const types: readonly unknown[] = Array.isArray(value) ? value : [value];
        const bad = types.find((type) => typeof type !== 'string' || !TYPES.has(type));
        if (types.length === 0 || bad !== undefined) throw wrong(at, words.schemaText.isTypes([...TYPES].join(', ')));
    }

    #map(keyword: string, value: unknown, at: string): void {
        if (!isObject(value)) throw wrong(at, words.schemaText.isSchemaMap);
        for (const [name, member] of Object.entries(value)) {
            if (keyword === 'patternProperties') this.#pattern(name, at);
            if (keyword === 'dependencies' && isTexts(member)) continue;
            this.#schema(member, `${at}/${name}`);
        }
    }

    #list(value: unknown, at: string): void {
        if (!Array.isArray(value) || value.length === 0) throw wrong(at, words.schemaText.isSchemas);
        value.forEach((item, index) => this.#schema(item, `${at}/${index}`));
    }

    #anchor(anchor: string, at: string): void {
        if (this.#anchors.has(anchor)) throw new SchemaError(words.schemaText.anchorTwice(place(at), quoted(anchor)));
        this.#anchors.add(anchor);
    }

    #pattern(pattern: string, at: string): void {
        this.#patterns.add(pattern);
        if (this.#patterns.size > MAX_PATTERNS) throw new SchemaError(words.schemaText.tooManyPatterns(MAX_PATTERNS));
        if (new TextEncoder().encode(pattern).length > MAX_PATTERN_BYTES) {
            throw new SchemaError(words.schemaText.patternTooLong(place(at), MAX_PATTERN_BYTES));
        }
        const bare = pattern.replace(/\\\\/g, '');
        if (/\(\?(<?[=!])/.test(bare)) throw new SchemaError(words.schemaText.patternLooks(place(at)));
        if (/\\([1-9]|k<)/.test(bare)) throw new SchemaError(words.schemaText.patternRefers(place(at)));
        if (!isPattern(pattern)) throw new SchemaError(words.schemaText.badPattern(place(at), quoted(pattern)));
    }

    /** Follows a reference to its end. One that comes back to itself says nothing. */
    #follow(reference: string, at: string): void {
        const seen = new Set<string>();
        for (let next: unknown = reference; typeof next === 'string';) {
            if (seen.has(next)) throw new SchemaError(words.schemaText.circular(place(at)));
            seen.add(next);
            const target = this.#target(next);
            if (!this.#schemas.has(target)) throw new SchemaError(words.schemaText.badRef(place(at), quoted(next)));
            next = isObject(target) ? target['$ref'] : undefined;
        }
    }

    #target(reference: string): unknown {
        if (!reference.startsWith('#')) return undefined;
        const fragment = decoded(reference.slice(1));
        if (fragment === '' || fragment.startsWith('/')) {
            const parts = fragment.split('/').slice(1);
            return parts.reduce<unknown>(
                (value, part) => memberOf(value, part.replaceAll('~1', '/').replaceAll('~0', '~')),
                this.root,
            );
        }
        return this.#anchors.has(fragment) ? this.root : undefined;
    }
}

const memberOf = (value: unknown, name: string): unknown =>
    typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined;

/** In either spelling of JavaScript, or with the flags that the service also takes. */
function isPattern(pattern: string): boolean {
    const bare = pattern.replace(/\(\?[a-z]+\)/g, '');
    return ['u', ''].some((flags) => {
        try {
            return new RegExp(bare, flags) instanceof RegExp;
        } catch {
            return false;
        }
    });
}

const isTexts = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((item) => typeof item === 'string');

function decoded(text: string): string {
    try {
        return decodeURIComponent(text);
    } catch {
        return '?';
    }
}

const quoted = (text: string): string => JSON.stringify(text.length > QUOTED ? `${text.slice(0, QUOTED)}\u2026` : text);
const place = (at: string): string => (at.length > QUOTED ? `\u2026${at.slice(-QUOTED)}` : at.slice(1));
const wrong = (at: string, expected: string): SchemaError =>
    new SchemaError(at === '' ? words.schemaText.rootMustBe(expected) : words.schemaText.mustBe(place(at), expected));
