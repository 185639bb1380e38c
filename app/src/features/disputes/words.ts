// What the state of a dispute is called, and whose turn it is.

import type { Dispute } from './query';
import type { Status } from './search';

export const STATUS_WORDS: Record<Status, string> = {
    open: 'Open',
    upheld: 'Upheld',
    rejected: 'Rejected',
    expired: 'Expired',
    cancelled: 'Cancelled',
    abusive: 'Abusive',
};

export const STATUS_KINDS = {
    open: 'warn',
    upheld: 'accent',
    rejected: 'plain',
    expired: 'plain',
    cancelled: 'plain',
    abusive: 'bad',
} as const;

/** What the end of a dispute is called. */
export const endWord = (status: Status): string =>
    status === 'expired' ? 'Ended' : status === 'cancelled' ? 'Given up' : 'Decided';

export type Times = Pick<Dispute, 'status' | 'answered_at' | 'upholdable_from' | 'expires_at'>;

/** Who can do something about it now. `nowS`: seconds since 1970. */
export type Turn = 'creator' | 'resolver' | 'anybody' | 'nobody';

export function turnOf({ status, answered_at, upholdable_from, expires_at }: Times, nowS: number): Turn {
    if (status !== 'open') return 'nobody';
    if (nowS > secondsOf(expires_at)) return 'anybody';
    return answered_at === null && nowS < secondsOf(upholdable_from) ? 'creator' : 'resolver';
}

export const TURN_WORDS: Record<Turn, string> = {
    creator: 'The creator, for an answer',
    resolver: 'The resolver, for a decision',
    anybody: 'Nobody: it can be ended',
    nobody: '\u2013',
};

export const secondsOf = (iso: string): number => Math.floor(Date.parse(iso) / 1_000);

/** Which part the wallet has in a dispute. One wallet can have several. */
export type Part = 'caller' | 'creator' | 'resolver';

export function partsOf(
    { caller, creator }: Pick<Dispute, 'caller' | 'creator'>,
    resolver: string | undefined,
    wallet: string,
): Part[] {
    const all: [Part, string | undefined][] = [
        ['caller', caller],
        ['creator', creator],
        ['resolver', resolver],
    ];
    return all.filter(([, address]) => address === wallet).map(([part]) => part);
}

export const PART_WORDS: Record<Part, string> = { caller: 'Caller', creator: 'Creator', resolver: 'Resolver' };
