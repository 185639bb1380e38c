// Turns an OpenAPI document into what the page shows: operations with their parameters, bodies, answers and
// credentials. Parts that it does not understand are left out, and nothing is longer than a page can show.

import { isMembers } from '../agent';
import { resolved } from './schema';

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const;
const PLACES = ['path', 'query', 'header'] as const;
const MAX_OPERATIONS = 500;
const MAX_PARTS = 60;
const MAX_TEXT = 10_000;

export type Place = (typeof PLACES)[number];

export type Parameter = {
    readonly name: string;
    readonly place: Place;
    readonly required: boolean;
    readonly description: string;
    readonly schema: unknown;
    /** As text; empty if there is none. */
    readonly example: string;
};

export type Answer = {
    readonly status: string;
    readonly description: string;
    readonly headers: readonly string[];
    readonly schema: unknown;
};

export type Operation = {
    /** Of the link to it: `get-v1-agents`. */
    readonly anchor: string;
    readonly method: string;
    readonly path: string;
    readonly tag: string;
    readonly summary: string;
    readonly description: string;
    readonly parameters: readonly Parameter[];
    readonly body: { readonly type: string; readonly schema: unknown } | null;
    readonly answers: readonly Answer[];
    /** Names of the credentials, one of which it takes. Empty: it needs none. */
    readonly credentials: readonly string[];
    /** Whether it also works without one of them. */
    readonly isOpen: boolean;
};

export type Reference = {
    /** In groups by their tag. */
    readonly operations: readonly Operation[];
    readonly schemes: readonly { readonly name: string; readonly description: string }[];
    /** The document, for what its schemas refer to. */
    readonly document: unknown;
};

const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : '');
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, MAX_PARTS) : []);
const pairs = (value: unknown, most = MAX_PARTS): [string, unknown][] =>
    isMembers(value) ? Object.entries(value).slice(0, most) : [];

export function readReference(document: unknown): Reference {
    const { paths, components } = isMembers(document) ? document : {};
    const operations: Operation[] = [];
    const anchors = new Set<string>();
    for (const [path, item] of pairs(paths, MAX_OPERATIONS)) {
        if (!isMembers(item)) continue;
        for (const method of METHODS) {
            const described = item[method];
            if (!isMembers(described) || operations.length >= MAX_OPERATIONS) continue;
            const operation = readOperation(document, method, path, described, list(item['parameters']));
            // Paths that differ only in signs which an anchor does not have.
            const anchor = anchors.has(operation.anchor)
                ? `${operation.anchor}-${operations.length}`
                : operation.anchor;
            anchors.add(anchor);
            operations.push({ ...operation, anchor });
        }
    }
    operations.sort((one, other) => Number(one.tag > other.tag) - Number(one.tag < other.tag));
    const schemes = pairs(isMembers(components) ? components['securitySchemes'] : undefined);
    return {
        operations,
        schemes: schemes.map(([name, scheme]) => ({
            name,
            description: isMembers(scheme) ? text(scheme['description']) : '',
        })),
        document,
    };
}

function readOperation(
    document: unknown,
    method: string,
    path: string,
    described: Record<string, unknown>,
    shared: unknown[],
): Operation {
    const body = resolved(described['requestBody'], document);
    const [content] = pairs(body['content']);
    const choices = list(described['security']).map((choice) => pairs(choice).map(([name]) => name));
    // What stands in the folded line is one sentence.
    const [, summary = '', rest = ''] = /^([^]*?[.!?])(?:\s+([^]*))?$/.exec(text(described['summary'])) ?? [
        undefined,
        text(described['summary']),
    ];
    return {
        anchor: `${method}-${path}`
            .toLowerCase()
            .replace(/[^a-z0-9_]+/g, '-')
            .replace(/^-|-$/g, ''),
        method: method.toUpperCase(),
        path,
        tag: text(list(described['tags'])[0]) || 'other',
        summary,
        description: [rest, text(described['description'])].filter((part) => part !== '').join('\n\n'),
        parameters: [...shared, ...list(described['parameters'])].flatMap((parameter) =>
            readParameter(resolved(parameter, document)),
        ),
        body: content === undefined ? null : { type: content[0], schema: schemaIn(content[1]) },
        answers: pairs(described['responses']).map(([status, answer]) => {
            const { description, headers, content: contents } = resolved(answer, document);
            return {
                status,
                description: text(description),
                headers: pairs(headers).map(([name]) => name),
                schema: schemaIn(pairs(contents)[0]?.[1]),
            };
        }),
        credentials: [...new Set(choices.flat())],
        isOpen: choices.length === 0 || choices.some((names) => names.length === 0),
    };
}

const schemaIn = (content: unknown): unknown => (isMembers(content) ? content['schema'] : undefined);

function readParameter({
    name,
    in: place,
    required,
    description,
    schema,
    example,
}: Record<string, unknown>): Parameter[] {
    const known = PLACES.find((one) => one === place);
    if (typeof name !== 'string' || known === undefined) return [];
    const shown = ['string', 'number', 'boolean'].includes(typeof example) ? String(example) : '';
    return [
        {
            name,
            place: known,
            required: required === true || known === 'path',
            description: text(description),
            schema,
            example: shown.slice(0, 200),
        },
    ];
}

/** In groups, in the order of their first entries. */
export function grouped<Entry, Key>(entries: readonly Entry[], keyOf: (entry: Entry) => Key): [Key, Entry[]][] {
    const groups = new Map<Key, Entry[]>();
    for (const entry of entries) {
        const group = groups.get(keyOf(entry));
        if (group === undefined) groups.set(keyOf(entry), [entry]);
        else group.push(entry);
    }
    return [...groups];
}

/** The operations that have every word, in any of their texts. */
export function filtered(operations: readonly Operation[], words: string): Operation[] {
    const wanted = words
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== '')
        .slice(0, 20);
    return operations.filter(({ method, path, tag, summary, description, parameters, answers }) => {
        const texts = [
            method,
            path,
            tag,
            summary,
            description,
            ...parameters.map(({ name }) => name),
            ...answers.map((answer) => answer.description),
        ];
        const all = texts.join('\n').toLowerCase();
        return wanted.every((word) => all.includes(word));
    });
}
