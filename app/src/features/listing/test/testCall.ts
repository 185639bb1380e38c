// The requests of a test: one that the agent completes, and one that it must refuse.

import { type JsonObject, isObject, requestProblem } from '../../run';
import { words } from '../words';

export type TestCall = {
    readonly task: string;
    readonly parameters: JsonObject;
    /** `null`: there is no such request. The parameters are JSON as text. */
    readonly failing: { readonly task: string; readonly parameters: string } | null;
};

export const EXAMPLE_CALL: TestCall = { task: '', parameters: {}, failing: null };

/** A stored one may be of another version of this page. */
export function knownCall(stored: unknown): TestCall {
    if (!isObject(stored)) return EXAMPLE_CALL;
    const { task, parameters, failing } = stored;
    const isCall =
        isObject(failing) && typeof failing['task'] === 'string' && typeof failing['parameters'] === 'string';
    return {
        task: typeof task === 'string' ? task : '',
        parameters: isObject(parameters) ? (parameters as JsonObject) : {},
        failing: isCall ? (failing as TestCall['failing']) : null,
    };
}

/** Why a task cannot be sent, or `null`. */
export const taskProblem = (task: string): string | null =>
    task.trim() === '' ? words.testCall.noTask : requestProblem({ task, parameters: {} });
