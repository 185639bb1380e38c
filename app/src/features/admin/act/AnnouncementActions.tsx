// What can be done with an announcement: withdraw it, and apply it once it is due.

import { momentText } from '../../../shared/time/moments';
import type { Instruction, TransactionSigner } from '@solana/kit';

import type { Market } from '../../../chain/market';
import { type AnnouncementState, announcementState } from '../../market';
import styles from '../Admin.module.css';
import { Action } from './Action';
import { asAdmin } from './requests';

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
    waiting: (applyFrom) => `Possible from ${momentText(applyFrom)} on.`,
    lapsed: () => 'The announcement has lapsed.',
};

/** Stays on the page after its announcement is gone, so that the outcome of the last action can still be read. */
export function AnnouncementActions({ what, applyFrom, now, applyFromNow, apply, withdraw }: AnnouncementActionsProps) {
    const state = announcementState(applyFrom, now);
    const isGone = state === 'none';
    return (
        <div className={styles.pair}>
            <Action
                label={`Apply the announced ${what}`}
                effects={['At once: they hold.']}
                isGone={isGone}
                obstacle={OBSTACLES[state]?.(applyFrom)}
                make={(_, { market }) => {
                    // Somebody may have been faster.
                    if (applyFromNow(market) !== applyFrom)
                        throw new Error('The announcement has just changed on the chain. Look at it again.');
                    return apply();
                }}
                done={`The announced ${what} hold. The service shows it within half a minute.`}
            />
            <Action
                label={`Withdraw the announced ${what}`}
                isDangerous
                effects={['At once: the announcement is gone. What holds now stays.']}
                isGone={isGone}
                make={asAdmin((admin, { market }) => {
                    if (applyFromNow(market) === 0) throw new Error(`No ${what} are announced any more.`);
                    return withdraw(admin);
                })}
                done="The announcement is withdrawn. The service shows it within half a minute."
            />
        </div>
    );
}
