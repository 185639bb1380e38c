// What can be done with an announcement: withdraw it, and apply it once it is due.

import { momentText } from '../../../shared/time/moments';
import type { Instruction, TransactionSigner } from '@solana/kit';

import type { Market } from '../../../chain/market';
import { type AnnouncementState, announcementState } from '../../market';
import styles from '../Admin.module.css';
import { Action } from './Action';
import { asAdmin } from './requests';
import { words } from '../words';

export type AnnouncementActionsProps = {
    /** `parameters` or `roles`. */
    what: string;
    /** 0 without an announcement. */
    applyFrom: number;
    /** The chain's time. */
    now: number;
    applyFromNow: (market: Market) => number;
    apply: () => Promise<Instruction>;
    withdraw: (admin: TransactionSigner) => Promise<Instruction>;
};

const OBSTACLES: Partial<Record<AnnouncementState, (applyFrom: number) => string>> = {
    waiting: (applyFrom) => words.announcementActions.from(momentText(applyFrom)),
    lapsed: () => words.announcementActions.lapsed,
};

/** Stays on the page after its announcement is gone, so that the outcome of the last action can still be read. */
export function AnnouncementActions({ what, applyFrom, now, applyFromNow, apply, withdraw }: AnnouncementActionsProps) {
    const state = announcementState(applyFrom, now);
    const isGone = state === 'none';
    return (
        <div className={styles.pair}>
            <Action
                label={words.announcementActions.apply(what)}
                effects={[words.announcementActions.applyEffect]}
                isGone={isGone}
                obstacle={OBSTACLES[state]?.(applyFrom)}
                make={(_, { market }) => {
                    // Somebody may have been faster.
                    if (applyFromNow(market) !== applyFrom) throw new Error(words.announcementActions.changed);
                    return apply();
                }}
                done={words.announcementActions.applied(what)}
            />
            <Action
                label={words.announcementActions.withdraw(what)}
                isDangerous
                effects={[words.announcementActions.withdrawEffect]}
                isGone={isGone}
                make={asAdmin((admin, { market }) => {
                    if (applyFromNow(market) === 0) throw new Error(words.announcementActions.none(what));
                    return withdraw(admin);
                })}
                done={words.announcementActions.withdrawn}
            />
        </div>
    );
}
