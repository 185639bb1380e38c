// The draft of the parameters of a call, in fields or as JSON, and the value that it means.

import { type Draft, type Problem, draftOf, emptyDraft, readForm } from './draft';
import { type Json, type JsonObject, JsonError, isObject, readJson } from './json';
import type { Group } from './plan';
import { words } from '../words';

export type ParametersDraft =
    | { readonly as: 'fields'; readonly draft: Draft }
    /** `note`: why the fields cannot show it. */
    | { readonly as: 'json'; readonly text: string; readonly note?: string };

/** The draft of a call that nobody has touched, or of earlier parameters. */
export function parametersDraft(form: Group | null, earlier?: JsonObject): ParametersDraft {
    if (form === null) return { as: 'json', text: JSON.stringify(earlier ?? {}, null, 2) };
    if (earlier === undefined) return { as: 'fields', draft: emptyDraft(form) };
    const draft = draftOf(form, earlier);
    return draft === null ? { as: 'json', text: JSON.stringify(earlier, null, 2) } : { as: 'fields', draft };
}

export function readParameters(
    form: Group | null,
    draft: ParametersDraft,
): { parameters: JsonObject; problems: Problem[] } {
    if (draft.as === 'fields' && form !== null) {
        const { parameters, problems } = readForm(form, draft.draft);
        return { parameters: isObject(parameters) ? parameters : {}, problems };
    }
    try {
        const value: Json = draft.as === 'json' && draft.text.trim() !== '' ? readJson(draft.text) : {};
        if (isObject(value)) return { parameters: value, problems: [] };
        return { parameters: {}, problems: [{ at: '', message: words.form.noObject }] };
    } catch (error) {
        if (!(error instanceof JsonError)) throw error;
        return { parameters: {}, problems: [{ at: '', message: error.message }] };
    }
}
