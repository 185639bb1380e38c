// Requests that are sent again where that is safe. A request with an idempotency key is a paid call: it keeps its key, and
// ends as unknown where an attempt may have reached the service and no answer says what became of it.

import { ApiError, ConnectionError, CrtxError, type ErrorCode, OutcomeUnknownError, ofCall } from './errors.js';
import { parseAnswer } from './money.js';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Gives the token of a request. `refused`: the one that the service did not take. */
export type Authorize = (refused: string | undefined, signal: AbortSignal) => Promise<string>;

export type HttpOptions = {
    readonly baseUrl: string;
    readonly authorize?: Authorize | undefined;
    readonly fetch: Fetch;
    readonly retries: number;
    readonly attemptTimeoutMs: number;
    readonly bodyTimeoutMs: number;
};

export type Sent = {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly query?: Record<string, string | number | boolean | readonly string[] | undefined>;
    readonly body?: string;
    /** Makes the request a paid call. */
    readonly idempotencyKey?: string;
    /** The execution that a wallet opened for this call. `isOpen`: its price is in escrow. */
    readonly opened?: { readonly executionId: string; readonly isOpen: boolean };
    /** Ends the request, by time-out or by the caller. */
    readonly signal: AbortSignal;
};

export type Answer = { readonly status: number; readonly body: unknown };

/** Larger than every answer of the service. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [20, 30_000];
const FIRST_PAUSE_MS = 250;
/** How an ended execution is answered: its outcome is known. */
const ENDED = new Set<string>(['execution_failed', 'execution_timeout', 'interrupted', 'result_unavailable']);
/** Retried where something in front of the service answers them. */
const TRANSIENT = new Set([408, 429, 502, 503, 504]);

/** What one attempt led to. */
type Attempt = {
    readonly error: CrtxError;
    readonly retry: boolean;
    /** The first attempt is still worked on: waiting for it is no retry. */
    readonly inProgress?: boolean;
    /** It may have reached the service, which may have begun the call. */
    readonly mayHaveBegun: boolean;
    readonly pauseMs?: number | undefined;
};

export class Http {
    constructor(readonly options: HttpOptions) {}

    async send(request: Sent): Promise<Answer> {
        const { idempotencyKey, opened, signal } = request;
        let mayHaveBegun = opened !== undefined;
        let executionId = opened?.executionId;
        const end = ({ error, inProgress }: Attempt): unknown => {
            // The key belongs to another call, so no attempt of this one was taken.
            const isOther = error instanceof ApiError && error.code === 'conflict' && inProgress !== true;
            const isEnd = (isOther && opened?.isOpen !== true) || (error instanceof ApiError && ENDED.has(error.code));
            const isUnknown = mayHaveBegun || error.executionId !== undefined;
            const call = { idempotencyKey, executionId };
            if (idempotencyKey === undefined || isEnd || !isUnknown) return ofCall(error, call);
            return new OutcomeUnknownError('it is not known yet what became of the call', call, error);
        };
        for (let failures = 0; ;) {
            const attempt = await this.#authorized(request);
            if ('body' in attempt) return attempt;
            mayHaveBegun ||= attempt.mayHaveBegun;
            executionId = attempt.error.executionId ?? executionId;
            failures += attempt.inProgress === true ? 0 : 1;
            if (!attempt.retry || failures > this.options.retries || isOver(signal)) throw end(attempt);
            const pause = attempt.pauseMs ?? FIRST_PAUSE_MS * 2 ** (failures - 1) * (0.5 + Math.random() / 2);
            await sleep(Math.min(Math.max(pause, MIN_PAUSE_MS), MAX_PAUSE_MS), signal);
            if (isOver(signal)) throw end(attempt);
        }
    }

    /** Sends with the token that there is, and once more with a new one if the service does not take it. */
    async #authorized(request: Sent): Promise<Answer | Attempt> {
        const { idempotencyKey, signal } = request;
        const { authorize } = this.options;
        try {
            const token = await authorize?.(undefined, signal);
            const attempt = await this.#attempt(request, token);
            const isRefused = 'error' in attempt && attempt.error instanceof ApiError && attempt.error.status === 401;
            if (!isRefused || authorize === undefined) return attempt;
            const newer = await authorize(token, signal);
            return newer === token ? attempt : await this.#attempt(request, newer);
        } catch (error) {
            const isTransient = error instanceof ApiError && TRANSIENT.has(error.status);
            const retry = error instanceof ConnectionError || isTransient;
            const message = `the wallet cannot sign in: ${error instanceof Error ? error.message : 'the signer fails'}`;
            const Kind = retry ? ConnectionError : CrtxError;
            return { error: new Kind(message, { idempotencyKey }, error), retry, mayHaveBegun: false };
        }
    }

    async #attempt(request: Sent, token: string | undefined): Promise<Answer | Attempt> {
        const { idempotencyKey, signal } = request;
        if (isOver(signal)) return { ...stopped(signal, idempotencyKey), mayHaveBegun: false };
        const limit = new AbortController();
        const limited = (ms: number, what: string) =>
            setTimeout(() => limit.abort(new Error(`${what} within ${ms} ms`)), ms);
        let timer = limited(this.options.attemptTimeoutMs, 'no answer');
        try {
            const response = await this.options.fetch(this.#url(request), {
                method: request.method,
                headers: headersOf(request, token),
                body: request.body ?? null,
                redirect: 'manual',
                signal: AbortSignal.any([signal, limit.signal]),
            });
            clearTimeout(timer);
            timer = limited(this.options.bodyTimeoutMs, 'no whole answer');
            const text = await readText(response, MAX_ANSWER_BYTES);
            if (response.ok) return { status: response.status, body: parseAnswer(text) };
            return refused(response, text, idempotencyKey);
        } catch (error) {
            if (isOver(signal)) return stopped(signal, idempotencyKey);
            const message = `no answer of ${this.options.baseUrl}`;
            const mayHaveBegun = !wasNotSent(error);
            return { error: new ConnectionError(message, { idempotencyKey }, error), retry: true, mayHaveBegun };
        } finally {
            clearTimeout(timer);
        }
    }

    #url({ path, query = {} }: Sent): string {
        const url = new URL(this.options.baseUrl.replace(/\/+$/, '') + path);
        for (const [name, value] of Object.entries(query)) {
            if (value !== undefined) url.searchParams.set(name, String(value));
        }
        return url.href;
    }
}

function headersOf({ body, idempotencyKey, opened }: Sent, token: string | undefined): Record<string, string> {
    const isKeyed = idempotencyKey !== undefined && opened === undefined;
    return {
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(isKeyed ? { 'idempotency-key': idempotencyKey } : {}),
    };
}

function stopped(signal: AbortSignal, idempotencyKey: string | undefined): Attempt {
    const error = new ConnectionError('the request was stopped', { idempotencyKey }, signal.reason);
    return { error, retry: false, mayHaveBegun: true };
}

/** Reads an error. Bodies that the service did not write say nothing about the call. */
function refused(response: Response, text: string, idempotencyKey: string | undefined): Attempt {
    const { status, headers } = response;
    const { code, message, execution_id: id } = errorIn(text);
    const requestId = headers.get('x-request-id') ?? undefined;
    const call = { idempotencyKey, executionId: id ?? undefined };
    const error = new ApiError(status, code ?? 'unknown', message ?? `HTTP status ${status}`, call, requestId);
    const header = headers.get('retry-after')?.trim() ?? '';
    const after = /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
    const inProgress = code === 'conflict' && after !== undefined;
    const byStatus =
        code === undefined
            ? TRANSIENT.has(status)
            : code === 'request_timeout' || (after !== undefined && [409, 429, 503].includes(status));
    const said = headers.get('x-should-retry');
    const retry = said === 'true' || (said !== 'false' && byStatus);
    const mayHaveBegun = inProgress || (code === undefined && status >= 500) || code === 'internal';
    return { error, retry, inProgress, mayHaveBegun, pauseMs: after };
}

type Detail = { code?: ErrorCode; message?: string; execution_id?: string | null };

function errorIn(text: string): Detail {
    try {
        const { error } = JSON.parse(text) as { error?: Detail };
        return typeof error?.code === 'string' ? error : {};
    } catch {
        return {};
    }
}

/** Whether the connection was never made, as Node.js names it. Elsewhere it counts as unknown. */
function wasNotSent(error: unknown): boolean {
    const { cause } = error as { cause?: { code?: string } };
    return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(cause?.code ?? '');
}

/** Reads a body up to a limit. */
export async function readText(body: Request | Response, limit: number): Promise<string> {
    if (body.body === null) return '';
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let [text, size] = ['', 0];
    for await (const chunk of body.body as unknown as AsyncIterable<Uint8Array>) {
        size += chunk.length;
        if (size > limit) throw new RangeError(`the body is larger than ${limit} bytes`);
        text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
}

/** As a function, because the state changes while somebody waits. */
export const isOver = (signal: AbortSignal): boolean => signal.aborted;

/** Ends early, and without an error, when the signal does. */
export const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
        const done = () => {
            clearTimeout(timer);
            signal.removeEventListener('abort', done);
            resolve();
        };
        const timer = setTimeout(done, ms);
        signal.addEventListener('abort', done);
        if (signal.aborted) done();
    });
