// Whose turn it is in a dispute, and which part a wallet has in it.

import type { Dispute } from './query';

export const STATUS_KINDS = {
    open: 'warn',
    upheld: 'accent',
    rejected: 'plain',
    expired: 'plain',
    cancelled: 'plain',
    abusive: 'bad',
} as const;

export type Times = Pick<Dispute, 'status' | 'answered_at' | 'upholdable_from' | 'expires_at'>;

/** Who can do something about it now. `nowS`: seconds since 1970. */
export type Turn = 'creator' | 'resolver' | 'anybody' | 'nobody';

export function turnOf({ status, answered_at, upholdable_from, expires_at }: Times, nowS: number): Turn {
    if (status !== 'open') return 'nobody';
    if (nowS > secondsOf(expires_at)) return 'anybody';
    return answered_at === null && nowS < secondsOf(upholdable_from) ? 'creator' : 'resolver';
}

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
