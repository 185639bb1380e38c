// The buyer's side: paid calls that are never paid twice, and results that are checked before anybody gets them.

import {
    type Check,
    type Claims,
    type Expected,
    NodeError,
    PROGRAM_ID,
    checkContent,
    checkExecution,
} from './chain.js';
import { addressBytes } from './bytes.js';
import { sessionKeyOf } from './ed25519.js';
import {
    ApiError,
    CrtxError,
    type ErrorCode,
    NotVerifiableError,
    OutcomeUnknownError,
    VerificationError,
    ofCall,
} from './errors.js';
import type { components, operations } from './generated/api.js';
import { type Answer, type Authorize, type Fetch, Http, type Sent, isOver, sleep } from './http.js';
import { checkIdempotencyKey, executionIdOf, requestHash } from './wire.js';

type Schemas = components['schemas'];
type Query<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>;

export type ClientOptions = {
    /** A Solana node that you trust. Without it the node is asked that the service names. */
    readonly rpcUrl?: string | undefined;
    /**
     * `chain`, the default: hash, signature, record, settlement and split of each result. `content`: only the hash, which
     * is what can be checked without a Solana node.
     */
    readonly verify?: 'chain' | 'content';
    /** How often a request is sent again after a failure: 2. */
    readonly retries?: number;
    /** How long a call may take, with its retries and checks: 1 000 000 ms, above the longest time-out of an agent. */
    readonly timeoutMs?: number;
    /** How long one attempt waits for an answer to begin, 120 000 ms; then the call goes on with its key. */
    readonly attemptTimeoutMs?: number;
    /** How long the body of an answer may take: 30 000 ms. */
    readonly bodyTimeoutMs?: number;
    /** Send the API key over plain http to another machine, where everybody on the way can read it. */
    readonly allowHttp?: boolean;
    /** The address of the marketplace's program, if it is another deployment. */
    readonly programId?: string;
    readonly fetch?: Fetch;
};

export type Limits = {
    readonly signal?: AbortSignal | undefined;
    readonly timeoutMs?: number | undefined;
};

export type CallOptions = Limits & {
    /** Matches the agent's `input_schema`. */
    readonly parameters?: Record<string, unknown>;
    /** 1 to 255 visible ASCII characters. Made for each call if it is not given; errors have it too. */
    readonly idempotencyKey?: string;
    /** Only for a wallet: the `terms_hash` of the terms that you saw. Nothing is signed for other ones. */
    readonly termsHash?: string;
    /** Only for a wallet: base units of USDC. Nothing is signed if the agent's price is higher. */
    readonly maxPrice?: bigint;
};

/** A call before a wallet pays it. */
export type Unpaid = {
    readonly agentId: string;
    readonly executionId: string;
    readonly idempotencyKey: string;
    readonly requestHash: string;
    readonly parameters: Record<string, unknown>;
    readonly termsHash: string | undefined;
    readonly maxPrice: bigint | undefined;
};

/** What a wallet asks the service before it pays. */
export type Service = {
    readonly execution: (executionId: string, signal: AbortSignal) => Promise<unknown>;
    readonly agent: (agentId: string, signal: AbortSignal) => Promise<Agent>;
};

/** A wallet that pays by itself; `withWallet` makes one. */
export type Payer = {
    readonly address: string;
    readonly authorize: Authorize;
    /** Puts the price of a call into escrow, unless that was done before. Resolves with whether it is there. */
    readonly open: (call: Unpaid, service: Service, signal: AbortSignal) => Promise<boolean>;
};

/** A result that was checked. */
export type Result = Omit<Schemas['ExecuteAnswer'], 'status'> & {
    readonly status: 'completed' | 'disputed';
    readonly idempotency_key: string;
    readonly checks: readonly Check[];
};

export type Started = Schemas['StatusAnswer'] & { readonly idempotency_key: string };
/** An execution as the service has it. `checks` are those of its result; none if it has no result. */
export type Execution = Schemas['ExecutionResponse'] & { readonly checks: readonly Check[] };
export type Agent = Schemas['AgentResponse'];
export type Event = Schemas['Event'];

type Asked = { readonly agentId: string; readonly idempotencyKey: string; readonly requestHash: string };

/** Asking again does not help: the record has the error (0), or the service does not show it to this key. */
const REFUSED = new Set([0, 400, 401, 403, 404]);
const READ_TIMEOUT_MS = 60_000;
const EVENTS_WAIT_S = 25;
const [FIRST_POLL_MS, LAST_POLL_MS] = [100, 2_000];
const LOCAL_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A variable of the environment, where there is one. */
export const variable = (name: string): string | undefined => {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name];
};

export class Client {
    readonly #http: Http;
    readonly #options: ClientOptions;
    readonly #fetch: Fetch;
    readonly #apiKey: string | undefined;
    readonly #payer: Payer | undefined;
    #rpcUrl: Promise<string> | undefined;

    /**
     * `baseUrl` and `apiKey` are those of the variables `CRTX_URL` and `CRTX_API_KEY`, and `rpcUrl` that of `CRTX_RPC_URL`, if
     * they are not given. Lists of agents need no key.
     */
    constructor(
        baseUrl = variable('CRTX_URL'),
        apiKey = variable('CRTX_API_KEY'),
        options: ClientOptions = {},
        payer?: Payer,
    ) {
        if (baseUrl === undefined) throw new TypeError('no address of the service: give it, or set CRTX_URL');
        const { protocol, hostname } = new URL(baseUrl);
        if (protocol !== 'https:' && !LOCAL_HOSTS.has(hostname) && options.allowHttp !== true) {
            throw new TypeError('the key would be sent over plain http; use https, or set `allowHttp`');
        }
        this.#options = { rpcUrl: variable('CRTX_RPC_URL'), ...options };
        [this.#apiKey, this.#payer] = payer === undefined ? [apiKey, undefined] : [undefined, payer];
        const key = this.#apiKey;
        this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
        this.#http = new Http({
            baseUrl,
            authorize: payer?.authorize ?? (key === undefined ? undefined : async () => key),
            fetch: this.#fetch,
            retries: options.retries ?? 2,
            attemptTimeoutMs: options.attemptTimeoutMs ?? 120_000,
            bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
        });
    }

    /** Agents on offer. */
    readonly agents = {
        search: async (query: Query<'list_agents'> = {}, limits: Limits = {}): Promise<Schemas['AgentListResponse']> =>
            this.#read('/v1/agents', query, limits),
        get: async (agentId: string, limits: Limits = {}): Promise<Agent> =>
            this.#read(`/v1/agents/${encodeURIComponent(agentId)}`, {}, limits),
    };

    /** Pays an agent for a call. Resolves with the checked result. */
    async execute(agentId: string, task: string, options: CallOptions = {}): Promise<Result> {
        const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
        const parameters = options.parameters ?? {};
        const expected = await this.#expected(agentId, task, parameters, idempotencyKey);
        const signal = this.#limit(options);
        // Where nothing can be checked, nothing is paid.
        if (this.#checksChain) await this.#node(signal, idempotencyKey);
        const { body } = await this.#post(expected, { task, parameters }, options, signal);
        const answer = body as Schemas['ExecuteAnswer'] | Schemas['StatusAnswer'];
        const call = { idempotencyKey, executionId: answer.execution_id };
        const result = 'result' in answer ? answer : await this.#end(call, signal);
        const checks = await this.#verified(result, expected, call, signal);
        const { execution_id, result_hash, cost_usdc, on_chain_record, ipfs_url } = result;
        return {
            execution_id,
            status: result.status === 'disputed' ? 'disputed' : 'completed',
            result: result.result as string,
            result_hash: result_hash as string,
            cost_usdc,
            execution_time_ms: result.execution_time_ms as number,
            on_chain_record,
            ipfs_url: ipfs_url as string,
            ...(result.tokens_used == null ? {} : { tokens_used: result.tokens_used }),
            ...(result.steps == null ? {} : { steps: result.steps as Record<string, never>[] }),
            idempotency_key: idempotencyKey,
            checks,
        };
    }

    /** Pays an agent for a call and does not wait for the result: `wait`, `get` or `events` bring it. */
    async start(agentId: string, task: string, options: CallOptions = {}): Promise<Started> {
        const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
        const parameters = options.parameters ?? {};
        const expected = await this.#expected(agentId, task, parameters, idempotencyKey);
        const asked = { task, parameters, async: true };
        const { body } = await this.#post(expected, asked, options, this.#limit(options));
        return { ...(body as Schemas['StatusAnswer']), idempotency_key: idempotencyKey };
    }

    /** Waits for the end of an execution. Rejects if it failed. */
    async wait(executionId: string, limits: Limits = {}): Promise<Execution> {
        const signal = this.#limit(limits);
        const execution = await this.#end({ executionId }, signal);
        const expected = { agentId: execution.agent_id };
        return { ...execution, checks: await this.#verified(execution, expected, { executionId }, signal) };
    }

    /** An execution as it is now. A result is checked. */
    async get(executionId: string, limits: Limits = {}): Promise<Execution> {
        const signal = this.#limit(limits);
        const execution = await this.#execution(executionId, signal);
        if (execution.result_hash === null) return { ...execution, checks: [] };
        const expected = { agentId: execution.agent_id };
        return { ...execution, checks: await this.#verified(execution, expected, { executionId }, signal) };
    }

    /** Executions of the wallet, newest first, without results. */
    async list(query: Query<'list_executions'> = {}, limits: Limits = {}): Promise<Schemas['ExecutionListResponse']> {
        return this.#read('/v1/executions', query, limits);
    }

    /** The checks of an execution's result, also those that failed. */
    async verify(execution: string | (Claims & { readonly agent_id: string }), limits: Limits = {}): Promise<Check[]> {
        const signal = this.#limit(limits);
        const claims = typeof execution === 'string' ? await this.#execution(execution, signal) : execution;
        return this.#checks(claims, { agentId: claims.agent_id }, { executionId: claims.execution_id }, signal);
    }

    /**
     * Events of the wallet, oldest first, as they come; `after` is the `sequence` of the last one that you have. Without
     * it they begin with the oldest one that is kept. Ends when `signal` does.
     */
    async *events(
        options: { after?: number; types?: readonly string[]; signal?: AbortSignal } = {},
    ): AsyncGenerator<Event, void, undefined> {
        const signal = options.signal ?? new AbortController().signal;
        for (let after = options.after ?? 0; !isOver(signal);) {
            const query = { after, types: options.types?.join(','), wait: EVENTS_WAIT_S };
            try {
                const page = await this.#read<Schemas['EventListResponse']>('/v1/events', query, { signal });
                yield* page.events;
                after = page.next_after;
            } catch (error) {
                if (isOver(signal)) return;
                throw error;
            }
        }
    }

    get #checksChain(): boolean {
        return this.#options.verify !== 'content';
    }

    #limit({ signal, timeoutMs = this.#options.timeoutMs ?? 1_000_000 }: Limits): AbortSignal {
        const timeout = AbortSignal.timeout(timeoutMs);
        return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    }

    /** Refuses what has no hash, before it is sent. */
    async #expected(
        agentId: string,
        task: string,
        parameters: Record<string, unknown>,
        idempotencyKey: string,
    ): Promise<Expected & Asked> {
        checkIdempotencyKey(idempotencyKey);
        const hash = await requestHash(task, parameters);
        const sessionKey = this.#apiKey === undefined ? undefined : await sessionKeyOf(this.#apiKey);
        const opener = this.#payer === undefined ? sessionKey : addressBytes(this.#payer.address);
        return { agentId, opener, requestHash: hash, idempotencyKey };
    }

    async #post(
        asked: Asked,
        body: { readonly task: string; readonly parameters: Record<string, unknown>; readonly async?: boolean },
        { termsHash, maxPrice }: CallOptions,
        signal: AbortSignal,
    ): Promise<Answer> {
        const { agentId, idempotencyKey } = asked;
        const sent = { method: 'POST', body: JSON.stringify(body), idempotencyKey, signal } as const;
        const payer = this.#payer;
        if (payer === undefined) {
            if (termsHash !== undefined || maxPrice !== undefined)
                throw new TypeError('only a wallet agrees to terms and price: `termsHash` and `maxPrice` need one');
            return this.#http.send({ ...sent, path: `/v1/agents/${encodeURIComponent(agentId)}/execute` });
        }
        const executionId = await executionIdOf(payer.address, idempotencyKey);
        const service: Service = {
            execution: async (id, signal) => this.#execution(id, signal),
            agent: async (id, signal) => this.agents.get(id, { signal }),
        };
        const unpaid = { ...asked, executionId, termsHash, maxPrice, parameters: body.parameters };
        const isOpen = await payer.open(unpaid, service, signal).catch((error: unknown) => {
            throw ofCall(error, { idempotencyKey, executionId });
        });
        const opened = { executionId, isOpen };
        const answer = await this.#http.send({ ...sent, path: `/v1/executions/${executionId}/dispatch`, opened });
        const { execution_id: named } = answer.body as Schemas['StatusAnswer'];
        const detail = `the answer names the execution ${named}`;
        if (named !== executionId) throw new VerificationError('identity', detail, [], { idempotencyKey, executionId });
        return answer;
    }

    async #read<T>(path: string, query: NonNullable<Sent['query']>, limits: Limits): Promise<T> {
        const signal = this.#limit({ timeoutMs: READ_TIMEOUT_MS, ...limits });
        return (await this.#http.send({ method: 'GET', path, query, signal })).body as T;
    }

    async #execution(executionId: string, signal: AbortSignal): Promise<Schemas['ExecutionResponse']> {
        return this.#read(`/v1/executions/${encodeURIComponent(executionId)}`, {}, { signal });
    }

    /** Asks until the execution has ended. */
    async #end(
        call: { idempotencyKey?: string; executionId: string },
        signal: AbortSignal,
    ): Promise<Schemas['ExecutionResponse']> {
        let last: unknown = signal.reason;
        for (let pause = FIRST_POLL_MS; !isOver(signal); pause = Math.min(pause * 1.5, LAST_POLL_MS)) {
            try {
                const execution = await this.#execution(call.executionId, signal);
                const { status, result, error } = execution;
                if (status === 'failed') {
                    const code = (error?.code ?? 'execution_failed') as ErrorCode;
                    throw new ApiError(0, code, error?.message ?? 'a dispute was upheld', call);
                }
                if ((status === 'completed' || status === 'disputed') && result !== null) return execution;
                if (status === 'completed' || status === 'disputed') {
                    throw new ApiError(
                        0,
                        'result_unavailable',
                        'it is paid, and the service does not have the result',
                        call,
                    );
                }
            } catch (error) {
                const isRefused = error instanceof ApiError && REFUSED.has(error.status);
                // Of a paid call this says nothing.
                if (isRefused && (error.status === 0 || call.idempotencyKey === undefined)) throw error;
                last = error;
                if (isRefused) break;
            }
            await sleep(pause, signal);
        }
        throw new OutcomeUnknownError('it is not known yet what became of the call', call, last);
    }

    async #verified(
        claims: Claims,
        expected: Expected,
        call: { idempotencyKey?: string; executionId: string },
        signal: AbortSignal,
    ): Promise<Check[]> {
        const named = { name: 'identity', detail: `the answer names the execution ${claims.execution_id}` };
        const checks =
            claims.execution_id === call.executionId
                ? await this.#checks(claims, expected, call, signal)
                : [{ ...named, ok: false }];
        const failed = checks.find(({ ok }) => !ok);
        if (failed !== undefined) throw new VerificationError(failed.name, failed.detail, checks, call);
        return checks;
    }

    async #checks(
        claims: Claims,
        expected: Expected,
        call: { idempotencyKey?: string; executionId: string },
        signal: AbortSignal,
    ): Promise<Check[]> {
        if (!this.#checksChain) return checkContent(claims);
        const programId = this.#options.programId ?? PROGRAM_ID;
        try {
            const url = await this.#node(signal, call.idempotencyKey);
            return await checkExecution(claims, expected, { url, fetch: this.#fetch, programId }, signal);
        } catch (error) {
            const why =
                error instanceof NodeError ? error.message : 'the Solana node gives an answer that cannot be read';
            throw new NotVerifiableError(`the result cannot be checked now: ${why}`, call, error);
        }
    }

    async #node(signal: AbortSignal, idempotencyKey: string | undefined): Promise<string> {
        const { rpcUrl } = this.#options;
        if (rpcUrl !== undefined) return rpcUrl;
        this.#rpcUrl ??= this.#namedNode(signal);
        try {
            return await this.#rpcUrl;
        } catch (error) {
            this.#rpcUrl = undefined;
            const message = 'nothing was sent: no Solana node is known that could check the result; set `rpcUrl`';
            throw new CrtxError(message, { idempotencyKey }, error);
        }
    }

    async #namedNode(signal: AbortSignal): Promise<string> {
        const { rpc_url } = await this.#read<Schemas['NetworkResponse']>('/v1/network', {}, { signal });
        if (rpc_url == null) throw new TypeError('the service names none');
        return rpc_url;
    }
}
