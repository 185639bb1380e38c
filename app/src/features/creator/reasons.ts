// Why an agent is not in the lists, in words that say what to do.

import type { Schemas } from '../../shared/api/client';

type Code = Schemas['ListingReasonCode'];

export type Explanation = { readonly badge: string; readonly kind: 'plain' | 'warn' | 'bad'; readonly text: string };

const EXPLANATIONS: Record<Code, Explanation> = {
    paused: {
        badge: 'Paused',
        kind: 'warn',
        text: 'You paused it, or a dispute took collateral. It takes no calls until you resume it.',
    },
    delisted: { badge: 'Delisted', kind: 'plain', text: 'You delisted it for good. It takes no calls.' },
    closed: { badge: 'Closed', kind: 'plain', text: 'Its accounts are closed.' },
    account_unreadable: {
        badge: 'Hidden',
        kind: 'bad',
        text: 'The service cannot read its account. The service may be older than the program; tell its operator.',
    },
    document_pending: {
        badge: 'Not shown yet',
        kind: 'warn',
        text: 'The service has not fetched its document yet, which takes some seconds after each change.',
    },
    document_unavailable: {
        badge: 'Hidden',
        kind: 'bad',
        text: 'Nobody delivers its document, so nobody can find or call it. Edit the agent to store the document again.',
    },
    document_mismatch: {
        badge: 'Hidden',
        kind: 'bad',
        text: 'The document at its address is not the one whose hash is on the chain. Edit the agent to store the right one.',
    },
    document_invalid: {
        badge: 'Hidden',
        kind: 'bad',
        text: 'Its document breaks a rule, so no call could be made by it. Edit the agent to mend it.',
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
    badge: 'Suspended',
    kind: 'bad',
    text: 'The admin or the guardian of the marketplace stopped its new calls. Only the admin can resume it.',
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
        return { badge: 'Active', kind: 'good', text: null, message: null };
    }
    return { ...EXPLANATIONS[code], message: isAboutDocument(code) ? reason.message : null };
}
