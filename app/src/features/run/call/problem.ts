// Why a call stopped before the agent worked on it: what happened, where the money is, and what the user can do.

import { ApiError } from '../../../shared/api/client';
import { isSendError } from '../../../shared/wallet/sendError';
import { words } from '../words';

const t = words.stopped;

/** Where the price is. `unknown`: a transaction may still be taken. */
export type Money = 'wallet' | 'escrow' | 'unknown';

export class CallProblem extends Error {
    constructor(
        readonly title: string,
        message: string,
        readonly money: Money,
    ) {
        super(message);
    }
}

/** The problem behind an error while the opening was signed and sent. */
export function openingProblem(error: unknown): CallProblem {
    if (error instanceof CallProblem) return error;
    const { kind, message, signature } = isSendError(error) ? error : { kind: null, message: '', signature: null };
    switch (kind) {
        case 'rejected':
            return new CallProblem(t.rejected.title, t.rejected.text, 'wallet');
        case 'altered':
            return new CallProblem(t.altered, t.notPaid(message), 'wallet');
        case 'expired':
            return new CallProblem(t.expired.title, t.expired.text, 'wallet');
        case 'refused':
            return new CallProblem(t.refused, t.notPaid(message), 'wallet');
        case 'unreachable':
            return signature === null ? new CallProblem(t.offline.title, t.offline.text, 'wallet') : unknownOutcome();
        default:
            return new CallProblem(t.other.title, error instanceof Error ? error.message : t.other.text, 'wallet');
    }
}

export const unknownOutcome = (): CallProblem => new CallProblem(t.unknown.title, t.unknown.text, 'unknown');

/** The problem behind an error of the service, when the money is in the escrow. */
export function handingOverProblem(error: unknown): CallProblem {
    const message = error instanceof Error ? error.message : t.serviceSilent;
    const title = error instanceof ApiError && error.status === 0 ? t.serviceOffline : t.notTaken;
    return new CallProblem(title, message, 'escrow');
}
