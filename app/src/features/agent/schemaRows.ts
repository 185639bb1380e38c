// A JSON Schema as rows that people can read: one for each member, nested ones indented. A schema is written by a
// stranger, so depth and number of rows are bounded; the whole of it is shown as JSON, too.

import { isMembers } from './example';

export type SchemaRow = {
    readonly path: string;
    readonly name: string;
    readonly depth: number;
    /** Such as `integer` or `list of text`. */
    readonly type: string;
    readonly required: boolean;
    /** Such as `1 to 50`. */
    readonly limits: readonly string[];
    readonly description: string;
};

/** How much is shown. */
export type RowLimits = { readonly rows: number; readonly choices: number };

const LIMITS: RowLimits = { rows: 100, choices: 12 };
const MAX_DEPTH = 5;

/** The rows, and whether the schema has more than they show. */
export function schemaRows(schema: unknown, most: RowLimits = LIMITS): { rows: SchemaRow[]; more: boolean } {
    const rows: SchemaRow[] = [];
    const more = collect(schema, '', 0, rows, most);
    return { rows, more };
}

function collect(schema: unknown, prefix: string, depth: number, rows: SchemaRow[], most: RowLimits): boolean {
    if (!isMembers(schema) || !isMembers(schema['properties'])) return hasOtherRules(schema);
    const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []);
    let more = hasOtherRules(schema);
    for (const [name, member] of Object.entries(schema['properties'])) {
        if (rows.length >= most.rows || depth >= MAX_DEPTH) return true;
        const path = `${prefix}/${name}`;
        rows.push({ path, name, depth, required: required.has(name), ...describe(member, most) });
        const inner = isMembers(member) && isMembers(member['items']) ? member['items'] : member;
        more = collect(inner, path, depth + 1, rows, most) || more;
    }
    return more;
}

const COMBINED = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'patternProperties', 'dependentSchemas'];

const hasOtherRules = (schema: unknown): boolean => isMembers(schema) && COMBINED.some((rule) => rule in schema);

/** What a schema says about one value. */
export function describe(schema: unknown, most: RowLimits): Pick<SchemaRow, 'type' | 'limits' | 'description'> {
    if (!isMembers(schema)) return { type: schema === false ? 'not allowed' : 'anything', limits: [], description: '' };
    const { description } = schema;
    return {
        type: typeOf(schema),
        limits: limitsOf(schema, most),
        description: typeof description === 'string' ? description : '',
    };
}

const NAMES: Readonly<Record<string, string>> = {
    string: 'text',
    integer: 'whole number',
    number: 'number',
    boolean: 'true or false',
    object: 'object',
    array: 'list',
    null: 'null',
};

const nameOf = (type: string): string => (Object.hasOwn(NAMES, type) ? (NAMES[type] ?? type) : type);

function typeOf(schema: Readonly<Record<string, unknown>>): string {
    const types = [schema['type']].flat().filter((type): type is string => typeof type === 'string');
    if (types.length === 0) return isMembers(schema['properties']) ? 'object' : 'anything';
    const inner = isMembers(schema['items']) ? schema['items']['type'] : undefined;
    const list = typeof inner === 'string' ? `list of ${nameOf(inner)}` : 'list';
    return types.map((type) => (type === 'array' ? list : nameOf(type))).join(' or ');
}

function limitsOf(schema: Readonly<Record<string, unknown>>, most: RowLimits): string[] {
    const number = (name: string): number | undefined => (typeof schema[name] === 'number' ? schema[name] : undefined);
    const range = (low: string, high: string, unit: string): string[] => {
        const [from, to] = [number(low), number(high)];
        if (from !== undefined && to !== undefined) return [`${from} to ${to}${unit}`];
        if (from !== undefined) return [`at least ${from}${unit}`];
        return to === undefined ? [] : [`at most ${to}${unit}`];
    };
    const choices = Array.isArray(schema['enum']) ? (schema['enum'] as unknown[]) : [];
    const shown = choices.slice(0, most.choices).map((choice) => JSON.stringify(choice));
    return [
        ...range('minimum', 'maximum', ''),
        ...range('exclusiveMinimum', 'exclusiveMaximum', ', exclusive'),
        ...range('minLength', 'maxLength', ' characters'),
        ...range('minItems', 'maxItems', ' entries'),
        ...(shown.length === 0 ? [] : [`one of ${shown.join(', ')}${choices.length > shown.length ? ', …' : ''}`]),
        ...(typeof schema['pattern'] === 'string' ? [`pattern ${schema['pattern']}`] : []),
        ...(typeof schema['format'] === 'string' ? [`format ${schema['format']}`] : []),
        ...('default' in schema ? [`default ${JSON.stringify(schema['default'])}`] : []),
    ];
}
