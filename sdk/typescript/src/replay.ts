// The replay guard: a call that comes twice is worked on once and answered alike. The gateway repeats a call that was
// interrupted, and execution ids are public once a call is paid.

/** One call. A request with the id of another call and another content is another call. */
export type CallName = {
    readonly executionId: string;
    /** SHA-256 of what the call asks for, in hexadecimal digits. */
    readonly requestHash: string;
};

export type Begun =
    /** Nobody has begun it: the caller of `begin` works on it now. */
    | { readonly state: 'run' }
    /** Somebody works on it, at most until that time, in ms since 1970. */
    | { readonly state: 'wait'; readonly until: number }
    /** It is answered: the JSON of the answer. */
    | { readonly state: 'done'; readonly answer: string };

/**
 * Remembers calls. To share it between processes, implement it with one atomic statement each: in Redis with `SET NX` and
 * a script that writes the first answer, in SQL with `INSERT … ON CONFLICT DO NOTHING` and `UPDATE … WHERE answer IS NULL`.
 * Keep a call at least for the time-out and the settlement grace after it began; a day is enough.
 */
export type ReplayGuard = {
    /** Begins a call that nobody has begun. `until`: when a run of it that has not finished counts as lost. */
    begin(call: CallName, until: number): Promise<Begun>;
    /** Keeps the answer, if it is the first one. Resolves with the first one. */
    finish(call: CallName, answer: string): Promise<string>;
};

/** Remembers the newest calls in the memory of this process. */
export function memoryGuard({ maxCalls = 10_000, maxBytes = 64 * 1024 * 1024 } = {}): ReplayGuard {
    const calls = new Map<string, { until: number; answer?: string }>();
    let bytes = 0;
    const nameOf = ({ executionId, requestHash }: CallName): string => `${executionId}:${requestHash}`;
    const forgetOldest = (): void => {
        for (const [name, { until, answer }] of calls) {
            if (calls.size <= maxCalls && bytes <= maxBytes) return;
            // A call that is worked on is not forgotten; the handler bounds their number.
            if (answer === undefined && until > Date.now()) continue;
            bytes -= 2 * (answer?.length ?? 0);
            calls.delete(name);
        }
    };
    return {
        begin: async (call, until) => {
            const known = calls.get(nameOf(call));
            if (known?.answer !== undefined) return { state: 'done', answer: known.answer };
            if (known !== undefined) return { state: 'wait', until: known.until };
            calls.set(nameOf(call), { until });
            forgetOldest();
            return { state: 'run' };
        },
        finish: async (call, answer) => {
            const known = calls.get(nameOf(call));
            if (known?.answer !== undefined) return known.answer;
            calls.set(nameOf(call), { until: known?.until ?? 0, answer });
            bytes += 2 * answer.length;
            forgetOldest();
            return answer;
        },
    };
}
