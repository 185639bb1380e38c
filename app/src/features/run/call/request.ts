// The hash of the request. The record of the execution stores it, so that nobody can change the request afterwards
// ("Request hash" in docs/specification.md).

import { type JsonObject, canonical, checkSendable, checkText } from '../form/json';
import { words } from '../words';

/** The largest request that the service takes. */
export const MAX_REQUEST_BYTES = 1024 * 1024;

export type Request = { readonly task: string; readonly parameters: JsonObject };

/** Why the request cannot be sent, or `null`. */
export function requestProblem({ task, parameters }: Request): string | null {
    if (task.trim() === '') return words.form.noTask;
    try {
        checkText(task);
        checkSendable(parameters);
    } catch (error) {
        return error instanceof Error ? error.message : words.form.notSendable;
    }
    const bytes = new TextEncoder().encode(JSON.stringify({ task, parameters, async: true })).length;
    return bytes > MAX_REQUEST_BYTES ? words.form.tooLarge : null;
}

/** SHA-256 of the RFC 8785 form of `{parameters, task}`. */
export async function requestHash({ task, parameters }: Request): Promise<Uint8Array> {
    const text = new TextEncoder().encode(canonical({ parameters, task }));
    return new Uint8Array(await crypto.subtle.digest('SHA-256', text));
}
