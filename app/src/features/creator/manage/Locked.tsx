// Why collateral cannot be withdrawn yet, and when it can be.

import { Link } from '@tanstack/react-router';

import type { Claim } from '../../../chain/collateral';
import { plural } from '../../../shared/figures';
import { exactTime } from '../../../shared/time/moments';
import { Countdown } from '../../../shared/ui/Countdown';
import { executionsPath, MY_DISPUTES } from '../paths';
import styles from './Manage.module.css';

/** Between two clocks that are set right. */
const USUAL_DIFFERENCE_S = 30;

/** The moment by the clock of this machine, which a countdown follows. The chain's clock decides. */
export function byThisClock(unixS: number, chainNow: number, machineNow: number): number {
    const difference = machineNow - chainNow;
    return Math.abs(difference) <= USUAL_DIFFERENCE_S ? unixS : unixS + difference;
}

export type LockedProps = {
    agentId: string;
    claims: readonly Claim[];
    chainNow: number;
    timeoutSeconds: number;
    graceSeconds: number;
};

export const Locked = ({ agentId, claims, chainNow, timeoutSeconds, graceSeconds }: LockedProps) => (
    <ul className={styles.claims} aria-label="Why the collateral is locked">
        {claims.map((claim) => (
            <li key={claim.kind}>
                {claim.kind === 'listed' && 'The agent is not delisted.'}
                {claim.kind === 'executions' && (
                    <>
                        {plural(claim.count, 'call')} {claim.count === 1 ? 'is' : 'are'} open. A call ends at most{' '}
                        {timeoutSeconds + graceSeconds} seconds after it was opened; from then on anybody can refund it.{' '}
                        <Link to={executionsPath(agentId)}>See the executions</Link>
                    </>
                )}
                {claim.kind === 'disputes' && (
                    <>
                        {plural(claim.count, 'dispute')} {claim.count === 1 ? 'is' : 'are'} open. The resolver has 72
                        hours; after 30 days anybody can end it. <Link to={MY_DISPUTES}>See the disputes</Link>
                    </>
                )}
                {claim.kind === 'window' && (
                    <>
                        A completed call can be disputed until {exactTime(claim.from - 1)}. The collateral is free{' '}
                        <strong>
                            <Countdown
                                key={claim.from}
                                to={byThisClock(claim.from, chainNow, Date.now() / 1_000)}
                                over="now: the page looks at the chain again in a moment"
                            />
                        </strong>
                        .
                    </>
                )}
            </li>
        ))}
    </ul>
);
