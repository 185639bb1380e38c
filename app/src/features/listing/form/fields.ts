// What a creator writes about an agent, as it stands in the inputs: text, until it is read.

import { words } from '../words';

export type Fields = {
    readonly name: string;
    readonly tagline: string;
    readonly description: string;
    readonly tags: readonly string[];
    readonly inputSchema: string;
    readonly outputSchema: string;
    readonly price: string;
    /** A number of calls. */
    readonly minCover: string;
    /** Empty: what price and promised cover demand. */
    readonly collateral: string;
    readonly timeout: string;
    readonly binding: boolean;
    /** A public key that was checked, or empty. A secret key never stands here. */
    readonly resultKey: string;
    readonly endpoint: string;
};

export type FieldName = keyof Fields;

/** One sentence for each field that is not right. */
export type Problems = { readonly [name in FieldName]?: string };

/** How a section of the form gets and changes its fields. */
export type FormProps = {
    readonly fields: Fields;
    readonly set: (change: Partial<Fields>) => void;
    /** What to show: not yet what nobody has filled in. */
    readonly problems: Problems;
};

export const EMPTY: Fields = {
    name: '',
    tagline: '',
    description: '',
    tags: [],
    inputSchema: '{\n  "type": "object",\n  "properties": {},\n  "additionalProperties": false\n}',
    outputSchema: '{\n  "type": "string"\n}',
    price: '',
    minCover: '1',
    collateral: '',
    timeout: '60',
    binding: true,
    resultKey: '',
    endpoint: '',
};

export const FIELD_NAMES = Object.keys(EMPTY) as readonly FieldName[];

/** The fields that stand in the metadata document; the others are on chain. */
export const DOCUMENT_FIELDS = [
    'name',
    'tagline',
    'description',
    'tags',
    'endpoint',
    'inputSchema',
    'outputSchema',
] as const;

export const LABELS: { readonly [name in FieldName]: string } = {
    name: words.fields.name,
    tagline: words.fields.tagline,
    description: words.fields.description,
    tags: words.fields.tags,
    inputSchema: words.fields.inputSchema,
    outputSchema: words.fields.outputSchema,
    price: words.fields.price,
    minCover: words.fields.cover,
    collateral: words.fields.collateral,
    timeout: words.fields.timeout,
    binding: words.fields.signatures,
    resultKey: words.fields.resultKey,
    endpoint: words.fields.endpoint,
};

export const isSame = (one: Fields[FieldName], other: Fields[FieldName]): boolean =>
    Array.isArray(one) && Array.isArray(other)
        ? one.length === other.length && one.every((tag, at) => tag === other[at])
        : one === other;
