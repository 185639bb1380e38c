// How a transaction ends badly, as a kind that the pages act on, and the reasons of program and chain in words.

import type { Signature } from '@solana/kit';

import { meaningOf } from './refusals';
import { words } from './words';

const { refused } = words;

export type SendErrorKind =
    /** The user or the wallet said no. Nothing was sent. */
    | 'rejected'
    /** The program or the chain refuses the transaction; the message says why. Nothing has changed. */
    | 'refused'
    /** It was not confirmed in time and never will be. Nothing has changed; it can be signed again. */
    | 'expired'
    /** The RPC node does not answer. Before the signature nothing was sent; afterwards the outcome is unknown. */
    | 'unreachable'
    /** The wallet returned another transaction than it may, or one without its signature. Nothing was sent. */
    | 'altered';

export class SendError extends Error {
    constructor(
        readonly kind: SendErrorKind,
        message: string,
        /** Known once the transaction may have been sent. */
        readonly signature: Signature | null = null,
    ) {
        super(message);
    }
}

/** The program's own words if it wrote them to the log, and what they mean; else the chain's name of the error. */
export function reasonOf(error: unknown, logs: readonly string[]): string {
    const meaning = meaningOf(error);
    for (const line of logs) {
        const found = /Error Message: (.+?)\.?$/.exec(line);
        if (found?.[1] !== undefined) return `${refused.byProgram(found[1])}${meaning === null ? '' : ` ${meaning}`}`;
    }
    if (meaning !== null) return `${refused.meaning} ${meaning}`;
    if (error === 'AccountNotFound' || error === 'InsufficientFundsForFee') {
        return refused.noSol;
    }
    const text = JSON.stringify(error, (_key, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value,
    );
    return refused.byChain(text);
}
