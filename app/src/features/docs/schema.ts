// A schema of an OpenAPI document without references and combinations, so that the rows and examples of JSON Schemas
// serve it. The copy is bounded in depth and size, whatever the document is.

import { isMembers } from '../agent';
import { apiWords as words } from './apiWords';

type Members = Record<string, unknown>;

const MAX_DEPTH = 12;
const MAX_NODES = 2_000;
const MAX_CHOICES = 200;
const MAX_FORMS = 20;
/** References that lead to references. */
const MAX_STEPS = 20;
const MAX_TEXT = 10_000;

/** Keywords that describe a value by itself, without other schemas. */
const PLAIN = [
    ...[
        'type',
        'description',
        'format',
        'pattern',
        'default',
        'const',
        'minLength',
        'maxLength',
        'minItems',
        'maxItems',
    ],
    ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
];

const { recursive: RECURSIVE, missing: MISSING, anyName: ANY_NAME } = words.operation;

/** What a JSON pointer within the document names, or `undefined`. */
function at(document: unknown, pointer: string): unknown {
    if (!pointer.startsWith('#/')) return undefined;
    let value = document;
    for (const part of pointer.slice(2).split('/', MAX_STEPS)) {
        const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
        if (!isMembers(value) || !Object.hasOwn(value, name)) return undefined;
        value = value[name];
    }
    return value;
}

/** A part of the document; if it is a reference, the part that it refers to. Keywords beside a reference count. */
export function resolved(part: unknown, document: unknown, seen = new Set<unknown>()): Members {
    let value = part;
    const beside: Members = {};
    for (let step = 0; isMembers(value) && typeof value['$ref'] === 'string'; step += 1) {
        const { $ref, ...rest } = value;
        for (const [name, member] of Object.entries(rest).slice(0, MAX_FORMS)) beside[name] ??= member;
        value = at(document, $ref);
        if (value === undefined || step >= MAX_STEPS) return { description: MISSING, ...beside };
        if (seen.has(value)) return { description: RECURSIVE, ...beside, type: 'object' };
        seen.add(value);
    }
    return { ...(isMembers(value) ? value : {}), ...beside };
}

/** Each form that a value can have, one after the other: the alternatives of a schema, or the schema itself. */
export function formsOf(schema: unknown, document: unknown): Members[] {
    const whole = resolved(schema, document);
    const forms = alternatives(whole).filter((form) => form['type'] !== 'null');
    return forms.length > 1 ? forms.map((form) => plainSchema(form, document)) : [plainSchema(schema, document)];
}

const alternatives = (schema: Members): Members[] =>
    [schema['oneOf'], schema['anyOf']]
        .flatMap((forms) => (Array.isArray(forms) ? (forms as unknown[]).slice(0, MAX_FORMS) : []))
        .filter(isMembers);

export function plainSchema(schema: unknown, document: unknown): Members {
    let nodes = 0;

    function plain(part: unknown, depth: number, above: ReadonlySet<unknown>): Members {
        nodes += 1;
        if (depth > MAX_DEPTH || nodes > MAX_NODES) return {};
        const seen = new Set(above);
        const whole = resolved(part, document, seen);
        const inner = (schema: unknown): Members => plain(schema, depth + 1, seen);
        const own = annotations(whole);
        const { properties, items, additionalProperties, allOf } = whole;
        if (isMembers(properties)) own['properties'] = members(properties, inner);
        if (isMembers(items)) own['items'] = inner(items);
        if (isMembers(additionalProperties))
            own['properties'] = { ...(own['properties'] as Members), [ANY_NAME]: inner(additionalProperties) };
        if (Array.isArray(whole['required'])) own['required'] = whole['required'].slice(0, MAX_CHOICES) as unknown[];
        const parts = Array.isArray(allOf) ? allOf.slice(0, MAX_FORMS).map(inner) : [];
        const forms = alternatives(whole).map(inner);
        return parts.reduce<Members>(both, forms.length === 0 ? own : both(own, eitherOf(forms)));
    }

    function members(properties: Members, inner: (schema: unknown) => Members): Members {
        const known: [string, Members][] = [];
        for (const name of Object.keys(properties)) {
            if (nodes > MAX_NODES) break;
            known.push([name, inner(properties[name])]);
        }
        return Object.fromEntries(known);
    }

    return plain(schema, 0, new Set());
}

function annotations(schema: Members): Members {
    const own: Members = {};
    for (const name of PLAIN) if (isShort(schema[name]) && isExact(schema[name])) own[name] = schema[name];
    if (Array.isArray(schema['enum'])) own['enum'] = schema['enum'].slice(0, MAX_CHOICES).filter(isShort);
    if (Array.isArray(schema['type']))
        own['type'] = schema['type'].slice(0, 7).filter((type) => typeof type === 'string');
    const [example] = Array.isArray(schema['examples']) ? (schema['examples'] as unknown[]) : [schema['example']];
    if (isShort(example)) own['examples'] = [example];
    return own;
}

const isShort = (value: unknown): boolean =>
    value === null ||
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    (typeof value === 'string' && value.length <= MAX_TEXT);

/** The bounds of 64-bit numbers are not: they would be shown as another number. */
const isExact = (value: unknown): boolean => typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER;

/** A value of both schemas. */
function both(one: Members, other: Members): Members {
    const merged: Members = { ...other, ...one };
    if (one['properties'] !== undefined && other['properties'] !== undefined) {
        merged['properties'] = { ...(one['properties'] as Members), ...(other['properties'] as Members) };
    }
    const required = [one['required'], other['required']].flatMap((names) =>
        Array.isArray(names) ? (names as unknown[]) : [],
    );
    if (required.length > 0) merged['required'] = required;
    return merged;
}

/** A value of one of the schemas: all their fields, of which those are required that all of them require. */
function eitherOf(forms: readonly Members[]): Members {
    const solid = forms.filter((form) => form['type'] !== 'null');
    const types = [...new Set(forms.flatMap((form) => form['type'] ?? []))];
    const [first = {}] = solid;
    const type = types.length > 0 ? { type: types.length === 1 ? types[0] : types } : {};
    if (solid.length <= 1) return { ...first, ...type };
    const required = (Array.isArray(first['required']) ? (first['required'] as unknown[]) : []).filter((name) =>
        solid.every((form) => Array.isArray(form['required']) && form['required'].includes(name)),
    );
    const properties = solid.reduce<Members>(
        (all, form) => ({ ...all, ...(form['properties'] as Members | undefined) }),
        {},
    );
    const hasChoices = solid.every((form) => Array.isArray(form['enum']));
    const choices = hasChoices
        ? { enum: solid.flatMap((form) => form['enum'] as unknown[]).slice(0, MAX_CHOICES) }
        : {};
    return {
        ...type,
        ...(Object.keys(properties).length > 0 ? { properties, required } : {}),
        ...choices,
        description: words.operation.forms(solid.length),
    };
}
