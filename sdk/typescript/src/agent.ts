// The seller's side: a handler that answers calls of the marketplace with a function's results, signed and without running a
// call twice. It takes a `Request` and resolves with a `Response`, as Hono, Bun, Deno and edge workers do; `@crtx/sdk/node`
// is for Node.js and Express. It writes nothing of a call anywhere.

import { type SchemaDraft, Validator } from '@cfworker/json-schema';

import { addressBytes, hex, sha256, utf8 } from './bytes.js';
import { type KeyPair, type Signer, keyPairBytes, signerOfBytes } from './ed25519.js';
import { readText, sleep } from './http.js';
import { type CallName, type ReplayGuard, memoryGuard } from './replay.js';
import {
    MAX_RESULT_BYTES,
    type Opening,
    callMessage,
    failureMessage,
    resultHash,
    resultMessage,
    signatureText,
} from './wire.js';

/** What a function knows of its call besides task and parameters. */
export type CallContext = {
    readonly executionId: string;
    /** The caller's wallet. */
    readonly wallet: string;
    readonly timeoutSeconds: number;
    /** Ends when the time is over: the answer is then a failure, whatever the function does. */
    readonly signal: AbortSignal;
    /** Reports tokens (0 to 1 000 000 000) and a trace, which callers see. A trace above 256 KiB is left out. */
    readonly report: (report: { readonly tokensUsed?: number; readonly steps?: readonly unknown[] }) => void;
};

/** The work: resolves with the result. A text stays as it is, anything else becomes JSON. What it throws is a failure. */
export type Work = (task: string, parameters: Record<string, unknown>, call: CallContext) => unknown;

export type AgentOptions = {
    /** The result key: a key pair, such as the text of its file or of an environment variable, or a signer. */
    readonly key: KeyPair | Signer;
    /** The `input_schema`. The marketplace has checked it before the call was paid. */
    readonly schema?: object;
    /** Remembers calls; by default in the memory of this process. */
    readonly replay?: ReplayGuard;
    /** Requests that are worked on at the same time, 1 000; more get 503. */
    readonly maxRunning?: number;
};

/** What a handler answers, for servers that have no `Response`. */
export type Reply = { readonly status: number; readonly body: string };

export type Handler = ((request: Request) => Promise<Response>) & {
    /** The same for a server that reads the body itself. `read` rejects where it is too large. */
    readonly reply: (method: string, read: (maxBytes: number) => Promise<string>) => Promise<Reply>;
};

type CreatorRequest = {
    readonly execution_id: string;
    readonly task: string;
    readonly parameters: Record<string, unknown>;
    readonly user_pubkey: string;
    readonly timeout_seconds: number;
    readonly execution_record: string;
    readonly opened_at_unix_s: number;
};

const MAX_REQUEST_BYTES = 4 * 1024 * 1024;
const MAX_STEPS_CHARS = 256 * 1024;
const MAX_TOKENS = 1_000_000_000;
const MAX_ERROR_CHARS = 500;
const MAX_TIMEOUT_S = 900;
/** What is left of the time-out to sign and to send the answer: a tenth, at most a second. */
const marginMs = (timeoutSeconds: number): number => Math.min(1_000, timeoutSeconds * 100);
const [FIRST_PAUSE_MS, LAST_PAUSE_MS] = [10, 250];

const isSigner = (key: KeyPair | Signer): key is Signer => typeof key === 'object' && 'sign' in key;

/** A handler of calls. */
export function agent(work: Work, options: AgentOptions): Handler {
    const { key, schema, replay = memoryGuard(), maxRunning = 1_000 } = options;
    const validator = schema === undefined ? undefined : new Validator(schema, draftOf(schema));
    const signer = signerSoon(key);
    let running = 0;
    const reply: Handler['reply'] = async (method, read) => {
        if (method !== 'POST') return json(405, { error: 'POST a call', result_key: (await signer()).address });
        if (running >= maxRunning) return json(503, { error: 'too many calls are worked on' });
        running += 1;
        try {
            const call = await read(MAX_REQUEST_BYTES).then(requestIn).catch(refuseRequest);
            const body = await answerOnce(replay, call, await signer(), () => run(work, validator, call));
            return { status: 200, body };
        } catch (error) {
            // A guard or a signer that does not answer may name hosts and keys.
            if (!(error instanceof RequestError)) return json(503, { error: 'the call could not be worked on' });
            return json(400, { error: error.message });
        } finally {
            running -= 1;
        }
    };
    const handler = async (request: Request): Promise<Response> => {
        const { status, body } = await reply(request.method, (maxBytes) => readText(request, maxBytes));
        return new Response(body, { status, headers: { 'content-type': 'application/json' } });
    };
    return Object.assign(handler, { reply });
}

/** Reads the key now, so that a wrong one is noticed, and imports it with the first call: edge workers allow no sooner one. */
function signerSoon(key: KeyPair | Signer): () => Promise<Signer> {
    if (isSigner(key)) return async () => key;
    const bytes = keyPairBytes(key);
    let signer: Promise<Signer> | undefined;
    return () => (signer ??= signerOfBytes(bytes));
}

const json = (status: number, body: object): Reply => ({ status, body: JSON.stringify(body) });

const messageOf = (error: unknown): string =>
    (error instanceof Error ? error.message : String(error)).toWellFormed().slice(0, MAX_ERROR_CHARS);

export function draftOf(schema: object): SchemaDraft {
    const uri = '$schema' in schema ? String(schema.$schema) : '';
    const drafts: readonly SchemaDraft[] = ['2019-09', '2020-12'];
    return (
        drafts.find((draft) => uri.includes(draft)) ??
        (/draft-0[67]/.test(uri) ? '7' : uri.includes('draft-04') ? '4' : '2020-12')
    );
}

/** The request is none of the marketplace. */
class RequestError extends Error {}

function refuseRequest(error: unknown): never {
    throw new RequestError(messageOf(error));
}

function requestIn(text: string): CreatorRequest {
    const call = JSON.parse(text) as Partial<CreatorRequest> | null;
    const { execution_id: id, task, parameters = {}, timeout_seconds: timeout, opened_at_unix_s: second } = call ?? {};
    const isRequest =
        typeof id === 'string' &&
        /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) &&
        typeof task === 'string' &&
        typeof parameters === 'object' &&
        !Array.isArray(parameters) &&
        Number.isInteger(timeout) &&
        Number(timeout) >= 1 &&
        Number(timeout) <= MAX_TIMEOUT_S &&
        Number.isSafeInteger(second);
    if (!isRequest) throw new TypeError('the body is no request of the marketplace');
    addressBytes(call?.execution_record ?? '');
    return { ...(call as CreatorRequest), parameters };
}

/** The outcome of the work. */
type Outcome =
    { readonly result: string; readonly tokens_used?: number; readonly steps?: unknown } | { readonly error: string };

/** Answers a call: with the answer that it has, after the run that is under way, or with a run of its own. */
async function answerOnce(
    replay: ReplayGuard,
    call: CreatorRequest,
    signer: Signer,
    work: () => Promise<Outcome>,
): Promise<string> {
    const { execution_id, execution_record, opened_at_unix_s, task, parameters } = call;
    const content = JSON.stringify([execution_id, execution_record, opened_at_unix_s, task, parameters]);
    const name: CallName = { executionId: execution_id, requestHash: hex(await sha256(utf8(content))) };
    const own = Date.now() + call.timeout_seconds * 1000 - marginMs(call.timeout_seconds);
    const never = new AbortController().signal;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LAST_PAUSE_MS)) {
        const begun = await replay.begin(name, own);
        if (begun.state === 'done') return begun.answer;
        if (begun.state === 'run') return replay.finish(name, await signed(call, await work(), signer));
        // The process that worked on it is gone: nobody runs it again, and nobody waits for it for ever.
        const lost = begun.until + LAST_PAUSE_MS;
        if (Date.now() > lost)
            return replay.finish(name, await signed(call, { error: 'the call was not finished in time' }, signer));
        await sleep(pause, never);
    }
}

/** Runs the work until the time is over. */
async function run(work: Work, validator: Validator | undefined, call: CreatorRequest): Promise<Outcome> {
    const { task, parameters, timeout_seconds: timeoutSeconds } = call;
    const limit = new AbortController();
    let reported: { tokens_used?: number; steps?: unknown } = {};
    const context: CallContext = {
        executionId: call.execution_id,
        wallet: call.user_pubkey,
        timeoutSeconds,
        signal: limit.signal,
        report: (report) => (reported = { ...reported, ...checkedReport(report) }),
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(
            () => {
                const over = new Error(`no result within ${timeoutSeconds} s`);
                reject(over);
                limit.abort(over);
            },
            timeoutSeconds * 1000 - marginMs(timeoutSeconds),
        );
    });
    try {
        const problem = validator?.validate(parameters).errors.at(-1);
        if (problem !== undefined) throw new TypeError(`the parameters do not match the schema: ${problem.error}`);
        const done = Promise.resolve().then(() => work(task, parameters, context));
        return { result: textOf(await Promise.race([done, timeout])), ...reported };
    } catch (error) {
        return { error: messageOf(error) || 'it gave no reason' };
    } finally {
        clearTimeout(timer);
    }
}

function checkedReport({ tokensUsed, steps }: Parameters<CallContext['report']>[0]): {
    tokens_used?: number;
    steps?: unknown;
} {
    const isCount = Number.isInteger(tokensUsed) && Number(tokensUsed) >= 0 && Number(tokensUsed) <= MAX_TOKENS;
    if (tokensUsed !== undefined && !isCount)
        throw new TypeError(`tokensUsed is no whole number from 0 to ${MAX_TOKENS}`);
    const isSmall = steps !== undefined && JSON.stringify(steps).length <= MAX_STEPS_CHARS;
    return {
        ...(tokensUsed === undefined ? {} : { tokens_used: tokensUsed }),
        ...(isSmall ? { steps: [...steps] } : {}),
    };
}

function textOf(result: unknown): string {
    const text = typeof result === 'string' ? result : (JSON.stringify(result) as string | undefined);
    if (text === undefined) throw new TypeError('there is no result');
    if (text.length > MAX_RESULT_BYTES || utf8(text).length > MAX_RESULT_BYTES) {
        throw new RangeError(`the result is larger than ${MAX_RESULT_BYTES} bytes`);
    }
    return text;
}

/** The answer: a result is signed once for its content and once for its call, a failure for its call. */
async function signed(call: CreatorRequest, outcome: Outcome, signer: Signer): Promise<string> {
    const opening: Opening = { record: call.execution_record, openedAtUnixS: call.opened_at_unix_s };
    const sign = async (message: Uint8Array): Promise<string> => signatureText(await signer.sign(message));
    const { execution_id } = call;
    const fails = async (error: string): Promise<string> => {
        const none = { result: null, result_hash: null, signature: null };
        const failure_signature = await sign(failureMessage(opening));
        return JSON.stringify({ execution_id, status: 'failed', ...none, error, failure_signature });
    };
    if ('error' in outcome) return fails(outcome.error);
    let hash: string;
    try {
        hash = await resultHash(outcome.result);
    } catch (error) {
        return fails(messageOf(error));
    }
    const messages = [resultMessage(hash), callMessage(opening, hash)];
    const [signature, call_signature] = await Promise.all(messages.map(sign));
    return JSON.stringify({
        execution_id,
        status: 'completed',
        ...outcome,
        result_hash: hash,
        signature,
        call_signature,
    });
}
