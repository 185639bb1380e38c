// Example parameters for a schema, for code samples: what the schema itself offers as default or example, else the
// simplest value of its type. A schema is written by a stranger, so depth and number of members are bounded.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const MAX_DEPTH = 4;
const MAX_MEMBERS = 12;
const MAX_TEXT = 200;

type Members = { readonly [name: string]: unknown };

export const isMembers = (value: unknown): value is Members =>
    typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parameters with what the schema requires. */
export function exampleOf(schema: unknown): Record<string, Json> {
    const value = valueOf(schema, 0);
    return isMembers(value) ? value : {};
}

/** The example of a result that the listing gives, as a whole or for each of its members. `undefined`: it gives none. */
export function exampleResultOf(schema: unknown): unknown {
    const whole = offeredBy(schema);
    if (whole !== undefined || !isMembers(schema) || !isMembers(schema['properties'])) return whole;
    const members = Object.entries(schema['properties']).map(([name, member]) => [name, offeredBy(member)] as const);
    if (members.length === 0 || members.length > MAX_RESULT_MEMBERS) return undefined;
    return members.every(([, value]) => value !== undefined) ? Object.fromEntries(members) : undefined;
}

const MAX_RESULT_MEMBERS = 100;

const offeredBy = (schema: unknown): unknown =>
    isMembers(schema)
        ? (first(schema['examples']) ?? schema['example'] ?? schema['default'] ?? schema['const'])
        : undefined;

function valueOf(schema: unknown, depth: number): Json {
    if (!isMembers(schema) || depth > MAX_DEPTH) return null;
    const { default: usual, const: constant, enum: choices, examples } = schema;
    for (const offered of [constant, usual, first(choices), first(examples)]) {
        if (offered !== undefined && isSmall(offered)) return offered as Json;
    }
    switch (first(schema['type']) ?? schema['type'] ?? (isMembers(schema['properties']) ? 'object' : undefined)) {
        case 'object':
            return objectOf(schema, depth);
        case 'array':
            return typeof schema['minItems'] === 'number' && schema['minItems'] > 0
                ? [valueOf(schema['items'], depth + 1)]
                : [];
        case 'string':
            return '…';
        case 'integer':
        case 'number':
            return typeof schema['minimum'] === 'number' ? schema['minimum'] : 1;
        case 'boolean':
            return false;
        default:
            return null;
    }
}

function objectOf(schema: Members, depth: number): Json {
    const { properties, required } = schema;
    if (!isMembers(properties) || !Array.isArray(required)) return {};
    const names = required.filter((name): name is string => typeof name === 'string').slice(0, MAX_MEMBERS);
    return Object.fromEntries(
        names.map((name) => [name, valueOf(Object.hasOwn(properties, name) ? properties[name] : {}, depth + 1)]),
    );
}

const first = (value: unknown): unknown => (Array.isArray(value) ? (value as unknown[])[0] : undefined);

const isSmall = (value: unknown): boolean => ((JSON.stringify(value) as string | undefined) ?? '').length <= MAX_TEXT;
