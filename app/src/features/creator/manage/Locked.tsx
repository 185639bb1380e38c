// Why collateral cannot be withdrawn yet, and when it can be.

import { Link } from '@tanstack/react-router';

import type { Claim } from '../../../chain/collateral';
import { plural } from '../../../shared/figures';
import { exactTime } from '../../../shared/time/moments';
import { Countdown } from '../../../shared/ui/Countdown';
import { executionsPath, MY_DISPUTES } from '../paths';
import styles from './Manage.module.css';
import { words } from './words';

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
    <ul className={styles.claims} aria-label={words.locked.title}>
        {claims.map((claim) => (
            <li key={claim.kind}>
                {claim.kind === 'listed' && words.locked.listed}
                {claim.kind === 'executions' && (
                    <>
                        {plural(claim.count, 'call')} {claim.count === 1 ? 'is' : 'are'}{' '}
                        {words.locked.openCalls(timeoutSeconds + graceSeconds)}{' '}
                        <Link to={executionsPath(agentId)}>{words.locked.executions}</Link>
                    </>
                )}
                {claim.kind === 'disputes' && (
                    <>
                        {plural(claim.count, 'dispute')} {claim.count === 1 ? 'is' : 'are'} {words.locked.openDisputes}{' '}
                        <Link to={MY_DISPUTES}>{words.locked.disputes}</Link>
                    </>
                )}
                {claim.kind === 'window' && (
                    <>
                        {words.locked.disputable(exactTime(claim.from - 1))}{' '}
                        <strong>
                            <Countdown
                                key={claim.from}
                                to={byThisClock(claim.from, chainNow, Date.now() / 1_000)}
                                over={words.locked.now}
                            />
                        </strong>
                        .
                    </>
                )}
            </li>
        ))}
    </ul>
);
