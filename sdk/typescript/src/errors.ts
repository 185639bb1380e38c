// What can go wrong with a call. Every error of a paid call has its idempotency key: with it the same call goes on, also
// in another process, and is never paid twice.

import type { Check } from './chain.js';
import type { components } from './generated/api.js';
import { usdcText } from './money.js';

/** The stable codes of the API. */
export type ErrorCode = components['schemas']['ErrorCode'];

export type Call = { readonly idempotencyKey?: string | undefined; readonly executionId?: string | undefined };

/** Every error of this library. */
export class CrtxError extends Error {
    override readonly name: string = 'CrtxError';
    /** Go on with the same call under this key. */
    readonly idempotencyKey: string | undefined;
    /** `undefined` if no answer named one. */
    readonly executionId: string | undefined;

    constructor(message: string, { idempotencyKey, executionId }: Call = {}, cause?: unknown) {
        super(message, cause === undefined ? undefined : { cause });
        [this.idempotencyKey, this.executionId] = [idempotencyKey, executionId];
    }
}

/** Names the call in an error of a part that does not know it. */
export const ofCall = (error: unknown, { idempotencyKey, executionId }: Call): unknown =>
    error instanceof CrtxError
        ? Object.assign(error, {
              idempotencyKey: error.idempotencyKey ?? idempotencyKey,
              executionId: error.executionId ?? executionId,
          })
        : error;

/** The service answered with an error. Without an execution id nothing was charged. */
export class ApiError extends CrtxError {
    override readonly name = 'ApiError';

    constructor(
        /** The HTTP status; 0 if the error stands in the record of an execution. */
        readonly status: number,
        /** `unknown`: something in front of the service answered. */
        readonly code: ErrorCode | 'unknown',
        message: string,
        call: Call = {},
        /** Names the request in the logs of the service. */
        readonly requestId?: string,
    ) {
        super(`${code}: ${message}`, call);
    }
}

/** There was no answer, and nothing was charged. */
export class ConnectionError extends CrtxError {
    override readonly name = 'ConnectionError';
}

/** The chain refused a transaction of the wallet, and nothing was charged. */
export class ChainRefusedError extends CrtxError {
    override readonly name = 'ChainRefusedError';
}

/** The agent costs more than the caller allows. Nothing was signed. */
export class PriceTooHighError extends CrtxError {
    override readonly name = 'PriceTooHighError';

    constructor(
        /** Base units of USDC, as `maxPrice`. */
        readonly price: bigint,
        readonly maxPrice: bigint,
        call: Call = {},
    ) {
        const [costs, limit] = [price, maxPrice].map(usdcText);
        super(`the agent costs ${costs} USDC, above \`maxPrice\` of ${limit}; nothing was signed`, call);
    }
}

/** Nobody knows yet whether the call was paid: go on with the same key. It is neither failed nor refunded. */
export class OutcomeUnknownError extends CrtxError {
    override readonly name = 'OutcomeUnknownError';
}

/** An answer that is not what the agent signed and the chain recorded. Its result must not be used. */
export class VerificationError extends CrtxError {
    override readonly name = 'VerificationError';

    constructor(
        /** The check that failed. */
        readonly check: string,
        detail: string,
        readonly checks: readonly Check[],
        call: Call = {},
    ) {
        super(`the check \`${check}\` failed: ${detail}`, call);
    }
}

/** The Solana node did not show what the checks need. The call is paid: `get` asks for it again. */
export class NotVerifiableError extends CrtxError {
    override readonly name = 'NotVerifiableError';
}
