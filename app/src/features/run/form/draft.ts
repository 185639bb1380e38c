// The contents of a form's fields while the user writes, and the JSON that they stand for. Every field holds text, so
// that nothing that was typed is lost or changed before it is read.

import { type Json, JsonError, isExact, isObject, readJson } from './json';
import { words } from '../words';
import type { Field, Group } from './plan';

/** The text of a field; of a list or a group the drafts inside, in order. A choice holds the number of its option. */
export type Draft = string | readonly Draft[];

/** What is wrong at a place, by its JSON pointer (`''` is the whole). */
export type Problem = { readonly at: string; readonly message: string };

/** Entries of a list in the form. A longer list is written as JSON. */
export const MAX_ENTRIES = 50;

/** The draft of a field that nobody has touched. */
export function emptyDraft(field: Field): Draft {
    const preset = field.preset === undefined ? null : draftOf(field, field.preset);
    if (preset !== null) return preset;
    if (field.kind === 'list') return [];
    return field.kind === 'group' ? field.members.map((member) => emptyDraft(member.field)) : '';
}

/** The draft of a value, or `null` if the field cannot hold it. `undefined` is a value that was left out. */
export function draftOf(field: Field, value: Json | undefined): Draft | null {
    if (value === undefined) return blank(field);
    switch (field.kind) {
        case 'text':
            return typeof value === 'string' ? value : null;
        case 'number':
            return typeof value === 'number' ? String(value) : null;
        case 'flag':
            return typeof value === 'boolean' ? String(value) : null;
        case 'choice': {
            const index = field.options.findIndex((option) => option.value === value);
            return index < 0 ? null : String(index);
        }
        case 'json':
            return JSON.stringify(value, null, 2);
        case 'list': {
            if (!Array.isArray(value) || value.length > MAX_ENTRIES) return null;
            return all(value.map((entry: Json) => draftOf(field.item, entry)));
        }
        case 'group': {
            if (!isObject(value)) return null;
            const known = new Set(field.members.map(({ name }) => name));
            if (Object.keys(value).some((name) => !known.has(name))) return null;
            const valueAt = (name: string): Json | undefined => (Object.hasOwn(value, name) ? value[name] : undefined);
            return all(field.members.map((member) => draftOf(member.field, valueAt(member.name))));
        }
    }
}

function blank(field: Field): Draft {
    if (field.kind === 'list') return [];
    return field.kind === 'group' ? field.members.map((member) => blank(member.field)) : '';
}

const all = (drafts: readonly (Draft | null)[]): Draft | null =>
    drafts.every((draft) => draft !== null) ? drafts : null;

/** The parameters that a form means, and everything that cannot be read. */
export function readForm(form: Group, draft: Draft): { parameters: Json; problems: Problem[] } {
    const problems: Problem[] = [];
    const parameters = valueOf(form, draft, true, '', problems) ?? {};
    return { parameters, problems };
}

export const pointerTo = (at: string, name: string | number): string =>
    `${at}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** `undefined`: left out. */
function valueOf(field: Field, draft: Draft, required: boolean, at: string, problems: Problem[]): Json | undefined {
    if (field.kind === 'group' || field.kind === 'list') return nested(field, listed(draft), required, at, problems);
    const text = typeof draft === 'string' ? draft : '';
    if (text.trim() === '' && !(field.kind === 'text' && text !== '')) {
        if (required)
            problems.push({
                at,
                message: field.kind === 'choice' || field.kind === 'flag' ? words.chooseOne : words.missing,
            });
        return undefined;
    }
    try {
        return plainValue(field, text);
    } catch (error) {
        if (!(error instanceof JsonError)) throw error;
        problems.push({ at, message: error.message });
        return undefined;
    }
}

function plainValue(field: Field, text: string): Json {
    switch (field.kind) {
        case 'number':
            return numberOf(text.trim(), field.whole);
        case 'flag':
            return text === 'true';
        case 'choice':
            return field.options[Number(text)]?.value ?? null;
        case 'json':
            return readJson(text);
        default:
            return text;
    }
}

function numberOf(text: string, whole: boolean): number {
    if (!/^-?(\d+\.?\d*|\.\d+)$/.test(text)) throw new JsonError(words.form.number);
    const value = Number(text);
    if (whole && !Number.isInteger(value)) throw new JsonError(words.form.wholeNumber);
    if (!isExact(text)) throw new JsonError(words.form.tooManyDigits);
    return value;
}

function nested(
    field: Extract<Field, { kind: 'group' | 'list' }>,
    drafts: readonly Draft[],
    required: boolean,
    at: string,
    problems: Problem[],
): Json | undefined {
    if (field.kind === 'list') {
        if (drafts.length === 0 && !required) return undefined;
        return drafts.map((draft, index) => valueOf(field.item, draft, true, pointerTo(at, index), problems) ?? null);
    }
    // An optional group that nobody filled in is left out, and nothing in it counts as missing.
    if (!required && !drafts.some(isFilled)) return undefined;
    const members = field.members.map(({ name, required: isNeeded, field: member }, index) => {
        const value = valueOf(member, drafts[index] ?? '', isNeeded, pointerTo(at, name), problems);
        return [name, value] as const;
    });
    return Object.fromEntries(members.filter((member): member is readonly [string, Json] => member[1] !== undefined));
}

const isFilled = (draft: Draft): boolean => (typeof draft === 'string' ? draft !== '' : draft.some(isFilled));
export const listed = (draft: Draft | undefined): readonly Draft[] => (typeof draft === 'object' ? draft : []);
