// Why an agent is not in the lists, in words that say what to do.

import type { Schemas } from '../../shared/api/client';
import { words } from './words';

type Code = Schemas['ListingReasonCode'];

export type Explanation = { readonly badge: string; readonly kind: 'plain' | 'warn' | 'bad'; readonly text: string };

const EXPLANATIONS: Record<Code, Explanation> = {
    paused: {
        badge: words.reasons.paused,
        kind: 'warn',
        text: words.reasons.pausedText,
    },
    delisted: { badge: words.reasons.delisted, kind: 'plain', text: words.reasons.delistedText },
    closed: { badge: words.reasons.closed, kind: 'plain', text: words.reasons.closedText },
    account_unreadable: {
        badge: words.reasons.hidden,
        kind: 'bad',
        text: words.reasons.unreadable,
    },
    document_pending: {
        badge: words.reasons.notShown,
        kind: 'warn',
        text: words.reasons.pending,
    },
    document_unavailable: {
        badge: words.reasons.hidden,
        kind: 'bad',
        text: words.reasons.unavailable,
    },
    document_mismatch: {
        badge: words.reasons.hidden,
        kind: 'bad',
        text: words.reasons.mismatch,
    },
    document_invalid: {
        badge: words.reasons.hidden,
        kind: 'bad',
        text: words.reasons.invalid,
    },
};

export const explanationOf = (code: Code): Explanation => EXPLANATIONS[code];

/** Codes of documents that do not arrive or do not fit: the words of the service say more. */
export const isAboutDocument = (code: Code): boolean => code.startsWith('document_') && code !== 'document_pending';

export type State = {
    readonly badge: string;
    readonly kind: 'plain' | 'good' | 'warn' | 'bad';
    /** `null` if the badge says it all. */
    readonly text: string | null;
    /** What the service says about the document; parts of it are of strangers. */
    readonly message: string | null;
};

const SUSPENDED: Explanation = {
    badge: words.reasons.suspended,
    kind: 'bad',
    text: words.reasons.suspendedText,
};

const OF_STATUS: Partial<Record<Schemas['OwnListingStatusName'], Code>> = { paused: 'paused', delisted: 'delisted' };

/** The state of an agent by the chain, and what the service says about it. */
export function stateOf(
    status: Schemas['OwnListingStatusName'],
    reason: Schemas['ListingReason'] | null | undefined,
    isSuspended: boolean,
): State {
    if (isSuspended && status !== 'delisted') return { ...SUSPENDED, message: null };
    const own = OF_STATUS[status];
    if (own !== undefined) return { ...EXPLANATIONS[own], message: null };
    // The service may not have seen yet that the agent was resumed.
    const code = reason?.code;
    if (reason === null || reason === undefined || code === 'paused' || code === 'delisted' || code === undefined) {
        return { badge: words.reasons.active, kind: 'good', text: null, message: null };
    }
    return { ...EXPLANATIONS[code], message: isAboutDocument(code) ? reason.message : null };
}
