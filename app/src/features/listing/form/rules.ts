// Reads the fields: their values, and every reason for which the marketplace would refuse them ("Metadata document" and
// "Limits of listings" in docs/specification.md). Nothing is sent before all of them are right.

import { type Address, isAddress } from '@solana/kit';

import type { Schemas } from '../../../shared/api/client';
import { MoneyError, formatUsdc, parseUsdc } from '../../../shared/money';
import { JsonError, type JsonObject, checkText } from '../../run';
import type { Fields, Problems } from './fields';
import { SchemaError, readSchema } from './schemaText';
import { requiredCollateral } from '../../../chain/collateral';
import type { CollateralTier } from '../../../generated/types/collateralTier';
import { MAX_COVER, amountOf, coverOf } from './terms';
import { words } from '../words';

/** What the rules depend on: the network's limits, and what the chain demands. */
export type RuleBook = {
    readonly network: Pick<Schemas['NetworkResponse'], 'limits' | 'network'>;
    readonly minPrice: bigint;
    readonly tiers: readonly CollateralTier[];
};

/** A listing that can be sent. */
export type Listing = {
    readonly document: Document;
    readonly price: bigint;
    /** The free collateral that the creator promises, in prices of one call. */
    readonly minCover: number;
    /** What to lock. */
    readonly collateral: bigint;
    readonly timeoutSeconds: number;
    readonly binding: boolean;
    readonly resultKey: Address;
};

export type Document = {
    readonly name: string;
    readonly tagline: string;
    readonly description: string;
    readonly tags: readonly string[];
    readonly endpoint: string;
    readonly input_schema: JsonObject;
    readonly output_schema: JsonObject;
};

/** Why a field is not right; the message is for the creator. */
class FieldError extends Error {}

type Reader = { readonly [name in keyof Problems]: (fields: Fields, book: RuleBook) => unknown };

const READERS = {
    name: ({ name }, { network }) => readText(name, network.limits.max_name_chars, words.rules.noName),
    tagline: ({ tagline }, { network }) => readText(tagline, network.limits.max_tagline_chars, words.rules.noTagline),
    description: ({ description }, { network }) =>
        readText(description, network.limits.max_description_chars, words.rules.noDescription).trimEnd(),
    tags: ({ tags }, { network }) => readTags(tags, network.limits.max_tags),
    inputSchema: ({ inputSchema }, book) => readSchema(inputSchema, schemaLimits(book)),
    outputSchema: ({ outputSchema }, book) => readSchema(outputSchema, schemaLimits(book)),
    price: ({ price }, book) => readPrice(price, book),
    minCover: ({ minCover }) => readCover(minCover),
    collateral: (fields, book) => readCollateral(fields, book),
    timeout: ({ timeout }, { network }) => readTimeout(timeout, network.limits),
    binding: ({ binding }) => binding,
    resultKey: ({ resultKey }) => readKey(resultKey),
    endpoint: ({ endpoint }, book) => readEndpoint(endpoint, book.network),
} satisfies Reader;

type Values = { readonly [name in keyof typeof READERS]: ReturnType<(typeof READERS)[name]> };

/** The listing, or `null` with a sentence for each field that is not right. */
export function readFields(fields: Fields, book: RuleBook): { listing: Listing | null; problems: Problems } {
    const problems: { -readonly [name in keyof Problems]: string } = {};
    const values: Partial<Record<keyof Fields, unknown>> = {};
    for (const name of Object.keys(READERS) as (keyof typeof READERS)[]) {
        try {
            values[name] = READERS[name](fields, book);
        } catch (error) {
            if (!isForCreator(error)) throw error;
            problems[name] = error.message;
        }
    }
    return { listing: Object.keys(problems).length === 0 ? listingOf(values as Values) : null, problems };
}

function listingOf({
    price,
    minCover,
    collateral,
    timeout,
    binding,
    resultKey,
    inputSchema,
    outputSchema,
    ...texts
}: Values): Listing {
    const document = { ...texts, input_schema: inputSchema, output_schema: outputSchema };
    return { document, price, minCover, collateral, timeoutSeconds: timeout, binding, resultKey };
}

const isForCreator = (error: unknown): error is Error =>
    error instanceof FieldError ||
    error instanceof SchemaError ||
    error instanceof MoneyError ||
    error instanceof JsonError;

const BLANK = /^\p{White_Space}*$/u;
const CONTROL = /[^\P{Cc}\n\t\r]/u;

/** Characters as the service counts them. */
export const lengthOf = (text: string): number => Array.from(text).length;

function readText(text: string, most: number, whenEmpty: string): string {
    if (BLANK.test(text)) throw new FieldError(whenEmpty);
    const length = lengthOf(text);
    if (length > most) throw new FieldError(words.rules.tooLong(length, most));
    if (CONTROL.test(text)) throw new FieldError(words.rules.control);
    checkText(text);
    return text;
}

export const TAG = /^[a-z0-9_-]{1,32}$/;

function readTags(tags: readonly string[], most: number): readonly string[] {
    if (tags.length === 0) throw new FieldError(words.rules.noTag);
    if (tags.length > most) throw new FieldError(words.rules.tooManyTags(most));
    const bad = tags.find((tag) => !TAG.test(tag));
    if (bad !== undefined) throw new FieldError(words.rules.badTag);
    if (new Set(tags).size < tags.length) throw new FieldError(words.rules.tagTwice);
    return tags;
}

const schemaLimits = ({ network: { limits } }: RuleBook) => ({
    maxBytes: limits.max_schema_bytes,
    maxDepth: limits.max_schema_depth,
});

function readPrice(text: string, { minPrice, network }: RuleBook): bigint {
    if (text.trim() === '') throw new FieldError(words.rules.noPrice);
    const price = parseUsdc(text);
    if (price < minPrice || price === 0n) throw new FieldError(words.rules.priceTooLow(formatUsdc(minPrice)));
    const highest = network.limits.max_price_usdc;
    if (price > highest) throw new FieldError(words.rules.priceTooHigh(formatUsdc(highest)));
    return price;
}

function readCover(text: string): number {
    const calls = coverOf(text);
    if (calls === null) throw new FieldError(words.rules.badCover(MAX_COVER));
    return calls;
}

function readCollateral({ price, minCover, collateral }: Fields, book: RuleBook): bigint {
    const [amountOfPrice, calls] = [amountOf(price), coverOf(minCover)];
    // Without them there is nothing to compare with; their own fields show that problem.
    const required =
        amountOfPrice === null || calls === null
            ? 0n
            : requiredCollateral(book.tiers, { price: amountOfPrice, minCover: calls });
    if (collateral.trim() === '') return required;
    const amount = parseUsdc(collateral);
    if (amount < required)
        throw new FieldError(words.rules.lowCollateral(formatUsdc(amountOfPrice ?? 0n), formatUsdc(required)));
    return amount;
}

function readTimeout(text: string, limits: Schemas['NetworkResponse']['limits']): number {
    const { min_timeout_seconds: least, max_timeout_seconds: most } = limits;
    const seconds = /^\d{1,6}$/.test(text.trim()) ? Number(text.trim()) : NaN;
    if (!(seconds >= least && seconds <= most)) throw new FieldError(words.rules.badTimeout(least, most));
    return seconds;
}

function readKey(text: string): Address {
    if (text === '') throw new FieldError(words.rules.noKey);
    if (!isAddress(text)) throw new FieldError(words.rules.badKey);
    return text;
}

const PRIVATE = /(^|\.)(localhost|localdomain|local|internal|home\.arpa|onion)$/;

/** The endpoint rules that can be said without asking the name's addresses. */
function readEndpoint(text: string, { limits, network }: RuleBook['network']): string {
    const trimmed = text.trim();
    if (trimmed === '') throw new FieldError(words.rules.noUrl);
    if (lengthOf(trimmed) > limits.max_endpoint_chars)
        throw new FieldError(words.rules.urlTooLong(limits.max_endpoint_chars));
    if (/[\p{Cc}\p{White_Space}]/u.test(trimmed)) throw new FieldError(words.rules.urlSpaces);
    checkText(trimmed);
    const isLocal = network === 'local';
    const url = URL.canParse(trimmed) ? new URL(trimmed) : null;
    const isHttp = /^https?:\/\//.test(trimmed) && (url?.protocol === 'https:' || url?.protocol === 'http:');
    if (url === null || !isHttp) throw new FieldError(words.rules.badUrl(isLocal ? 'http:// or ' : ''));
    if (url.username !== '' || url.password !== '') throw new FieldError(words.rules.urlUser);
    if (isLocal) return trimmed;
    if (url.protocol !== 'https:') throw new FieldError(words.rules.urlHttps);
    const host = url.hostname.replace(/\.$/, '').toLowerCase();
    if (!host.startsWith('[') && (!host.includes('.') || PRIVATE.test(host)))
        throw new FieldError(words.rules.urlPrivate);
    if (url.port !== '') throw new FieldError(words.rules.urlPort);
    return trimmed;
}
