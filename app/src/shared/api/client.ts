// The HTTP API of the service that serves this page, typed by its description. Errors become `ApiError`.

import createClient, { type Middleware } from 'openapi-fetch';

import { parseAnswer } from './json';
import type { components, paths } from './schema';
import { words } from '../words';

export type Schemas = components['schemas'];

/** An error that the service answered, or `code: 'offline'` if there was no answer. */
export class ApiError extends Error {
    constructor(
        readonly status: number,
        readonly code: string,
        message: string,
        readonly executionId: string | null = null,
        readonly retryAfterSeconds: number | null = null,
    ) {
        super(message);
    }
}

/** The code of an error that a sign-in with the named wallet would resolve, whatever code the service sent. */
const SIGNED_OUT = 'signed_out';

export const isSignedOut = (error: unknown): boolean => error instanceof ApiError && error.code === SIGNED_OUT;

const WALLET_HEADER = 'X-Crtx-Wallet';

/**
 * Options of a request that needs the session. The tabs of a browser share its cookie, so the request names the wallet
 * that it means: with the session of another one it is refused. Requests without these options send no cookie.
 */
export const asWallet = (wallet: string) => ({
    credentials: 'same-origin' as const,
    headers: { [WALLET_HEADER]: wallet },
});

/** Of the requests that open, show and end the session itself. */
export const WITH_COOKIE = { credentials: 'same-origin' } as const;

let sessionWallet: () => Promise<string | null> = async () => null;

/** `read` asks the service whose the session is now, and lets the page know. */
export function whenSessionIsRefused(read: () => Promise<string | null>): void {
    sessionWallet = read;
}

let csrfToken: string | null = null;

/** The token that requests which change something repeat; `null` without a session. */
export function setCsrfToken(token: string | null): void {
    csrfToken = token;
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

function withToken(request: Request): Request {
    const hasCookie = request.credentials !== 'omit';
    if (hasCookie && csrfToken !== null && !SAFE.has(request.method)) request.headers.set('X-CSRF-Token', csrfToken);
    return request;
}

/** The error of a request that got no answer. */
export const offline = (): ApiError => new ApiError(0, 'offline', words.service.offline);

/** Sends a request that the user wrote. Returns the answer as it is, also an error. */
export async function sendAsIs(request: Request): Promise<Response> {
    try {
        return await fetch(withToken(request));
    } catch (error) {
        // `fetch` throws this where there is no answer; an end by the page is another error.
        throw error instanceof TypeError ? offline() : error;
    }
}

const conventions: Middleware = {
    onRequest: ({ request }) => withToken(request),
    async onResponse({ request, response, schemaPath }) {
        if (!response.ok) throw await overSession(request, await errorOf(response));
        if (!(response.headers.get('content-type') ?? '').includes('json')) return undefined;
        const text = await response.text();
        // With a length the client calls `json`, which reads amounts exactly.
        const headers = new Headers(response.headers);
        headers.set('content-length', String(Math.max(text.length, 1)));
        const read = new Response(null, { status: response.status, headers });
        return Object.defineProperty(read, 'json', { value: async () => parseAnswer(text, schemaPath) });
    },
    onError({ error }) {
        if (error instanceof ApiError || (error instanceof DOMException && error.name === 'AbortError'))
            return undefined;
        return offline();
    },
};

async function errorOf(response: Response): Promise<ApiError> {
    const retryAfter = Number(response.headers.get('retry-after'));
    const seconds = Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null;
    const body = (await response.json().catch(() => null)) as Schemas['ErrorBody'] | null;
    const {
        code = 'unknown',
        message = words.service.status(response.status),
        execution_id = null,
    } = body?.error ?? {};
    return new ApiError(response.status, code, message, execution_id ?? null, seconds);
}

const OF_SESSION = new Set([401, 403, 409]);

/** The error of a request, and whether it was refused because the session is over or another wallet's. */
async function overSession({ headers }: Request, error: ApiError): Promise<ApiError> {
    const meant = headers.get(WALLET_HEADER);
    if (meant === null || !OF_SESSION.has(error.status)) return error;
    const wallet = await sessionWallet().catch(() => undefined);
    return error.status === 401 || (wallet !== undefined && wallet !== meant)
        ? new ApiError(error.status, SIGNED_OUT, words.service.signedOut)
        : error;
}

const { location } = globalThis as { location?: Location };
export const api = createClient<paths>({ baseUrl: location?.origin ?? '', credentials: 'omit' });
api.use(conventions);

/** The body of an answer that has one. Errors are thrown before. */
export async function body<T>(answer: Promise<{ data?: T }>): Promise<T> {
    const { data } = await answer;
    if (data === undefined) throw new ApiError(0, 'unknown', words.service.empty);
    return data;
}
