// Why a call stopped before the agent worked on it: what happened, where the money is, and what the user can do.

import { ApiError } from '../../../shared/api/client';
import { isSendError } from '../../../shared/wallet/sendError';

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
            return new CallProblem('You did not sign', 'Nothing was sent and nothing was paid.', 'wallet');
        case 'altered':
            return new CallProblem('The wallet changed the transaction', `${message} Nothing was paid.`, 'wallet');
        case 'expired':
            return new CallProblem(
                'The signature has expired',
                'The network did not take the transaction in time. Nothing was paid.',
                'wallet',
            );
        case 'refused':
            return new CallProblem('The payment was refused', `${message} Nothing was paid.`, 'wallet');
        case 'unreachable':
            return signature === null
                ? new CallProblem(
                      'No connection to Solana',
                      'The network does not answer. Nothing was sent and nothing was paid.',
                      'wallet',
                  )
                : unknownOutcome();
        default:
            return new CallProblem(
                'The call stopped',
                error instanceof Error ? error.message : 'Something went wrong.',
                'wallet',
            );
    }
}

export const unknownOutcome = (): CallProblem =>
    new CallProblem(
        'It is not known yet whether you paid',
        'The connection was lost after you signed. The chain decides: look again. Looking never pays.',
        'unknown',
    );

/** The problem behind an error of the service, when the money is in the escrow. */
export function handingOverProblem(error: unknown): CallProblem {
    const message = error instanceof Error ? error.message : 'The service does not answer.';
    const title =
        error instanceof ApiError && error.status === 0
            ? 'No connection to the service'
            : 'The service did not take the request';
    return new CallProblem(title, message, 'escrow');
}
