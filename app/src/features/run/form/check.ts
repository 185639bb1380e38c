// Checks parameters against a schema with a validator that interprets the schema (the content-security-policy forbids
// validators that generate code). Runs in a worker, because a stranger's schema can make it slow.

import { type OutputUnit, type SchemaDraft, Validator } from '@cfworker/json-schema';

import type { Problem } from './draft';
import { type Json, isObject } from './json';
import { words } from '../words';

/** Problems that are shown. */
const MAX_PROBLEMS = 30;
const MAX_MESSAGE = 300;
/** Characters of a schema; the service accepts about 128 KiB. */
const MAX_SCHEMA = 256 * 1024;

/** Errors of these keywords only say that something inside is wrong, and that has an error of its own. */
const WRAPPERS = new Set(
    (
        'properties patternProperties additionalProperties unevaluatedProperties items prefixItems additionalItems ' +
        '$ref $recursiveRef allOf dependentSchemas if then else'
    ).split(' '),
);

/** Everything that is wrong with the parameters; empty if they match. */
export function problemsOf(schema: unknown, parameters: Json): Problem[] {
    if (typeof schema !== 'boolean' && !isObject(schema)) throw new Error('the schema is no object');
    if (JSON.stringify(schema).length > MAX_SCHEMA) throw new Error('the schema is too large');
    // The copy is the validator's own: it writes into the schema.
    const { valid, errors } = new Validator(structuredClone(schema), draftOf(schema), false).validate(parameters);
    if (valid) return [];
    const leaves = errors.filter(({ keyword }) => !WRAPPERS.has(keyword));
    const problems = (leaves.length > 0 ? leaves : errors).slice(0, MAX_PROBLEMS).map(problemOf);
    return problems.filter(
        (one, index) => problems.findIndex((other) => other.at === one.at && other.message === one.message) === index,
    );
}

function draftOf(schema: unknown): SchemaDraft {
    const named = isObject(schema) && typeof schema['$schema'] === 'string' ? schema['$schema'] : '';
    if (named.includes('draft-04')) return '4';
    if (named.includes('draft-06') || named.includes('draft-07')) return '7';
    return named.includes('2019-09') ? '2019-09' : '2020-12';
}

function problemOf({ instanceLocation, keyword, error }: OutputUnit): Problem {
    const at = instanceLocation.replace(/^#/, '');
    const missing = keyword === 'required' ? /required property "(.*)"\.$/s.exec(error)?.[1] : undefined;
    if (missing !== undefined)
        return { at: `${at}/${missing.replaceAll('~', '~0').replaceAll('/', '~1')}`, message: words.missing };
    return { at, message: (keyword === 'false' ? words.form.notAllowed : plain(error)).slice(0, MAX_MESSAGE) };
}

/** The validator's sentences in the words of the form. */
const plain = (error: string): string =>
    error
        .replace(/^Instance type "(\w+)" is invalid\. Expected /, (_, type: string) => words.form.wrongType(type))
        .replace(/^Instance /, words.form.value);
