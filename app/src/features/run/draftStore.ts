// What someone writes for an agent, so that it survives a reload, and can be changed and started again after a call.
// Lives as long as the tab.

import { isObject } from './form/json';
import type { Draft } from './form/draft';
import type { ParametersDraft } from './form/parameters';

const PREFIX = 'crtx.request.';

export type RequestDraft = { readonly task: string; readonly parameters: ParametersDraft };

/** `schema`: of the fields; the drafts of another one do not fit. */
export function rememberRequest(agentId: string, schema: unknown, request: RequestDraft): void {
    try {
        sessionStorage.setItem(PREFIX + agentId, JSON.stringify({ schema: JSON.stringify(schema), ...request }));
    } catch {
        // Only a convenience.
    }
}

/** `parameters` is `null` if they were written for another schema. */
export function rememberedRequest(
    agentId: string,
    schema: unknown,
): { task: string; parameters: ParametersDraft | null } | null {
    try {
        const stored: unknown = JSON.parse(sessionStorage.getItem(PREFIX + agentId) ?? 'null');
        if (!isObject(stored) || typeof stored['task'] !== 'string') return null;
        const { task, parameters } = stored;
        const fits = stored['schema'] === JSON.stringify(schema) && isParameters(parameters);
        return { task, parameters: fits ? parameters : null };
    } catch {
        return null;
    }
}

function isParameters(value: unknown): value is ParametersDraft {
    if (!isObject(value)) return false;
    return value['as'] === 'json'
        ? typeof value['text'] === 'string'
        : value['as'] === 'fields' && isDraft(value['draft']);
}

const isDraft = (value: unknown): value is Draft =>
    typeof value === 'string' || (Array.isArray(value) && value.every(isDraft));
