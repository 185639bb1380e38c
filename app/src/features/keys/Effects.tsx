// What a grant changes and costs, before anything is signed.

import { feeText } from '../../chain/fee';
import { formatSol, formatUsdc } from '../../shared/money';
import { plural } from '../../shared/figures';
import { ExactTime } from '../../shared/ui/ExactTime';
import { type Costs, type Funds, approvalWith, rentOfGrant } from './funds';
import styles from './Keys.module.css';
import { type Limits, expiresAt } from './limits';

export type EffectsProps = {
    funds: Funds;
    costs: Costs;
    limits: Limits;
    /** Of the key that exists already; else empty. */ sessionKey: string;
};

export function Effects({ funds, costs, limits, sessionKey }: EffectsProps) {
    const approved = approvalWith(funds, sessionKey, limits.totalCap, limits.perCallCap);
    const isNew = !funds.grants.some((grant) => grant.sessionKey === sessionKey);
    const agents = limits.agents.length === 0 ? 'every agent' : plural(limits.agents.length, 'agent');
    return (
        <ul className={styles.effects}>
            <li>
                The key may pay calls of {agents}: up to {formatUsdc(limits.perCallCap)} USDC for one call
                {limits.dailyCap > 0n && `, ${formatUsdc(limits.dailyCap)} USDC in one day (UTC)`} and{' '}
                {formatUsdc(limits.totalCap)} USDC for all of them, until{' '}
                <ExactTime at={Number(expiresAt(limits, funds.now))} />.
            </li>
            <ApprovalEffects funds={funds} approved={approved} />
            <li>
                {isNew
                    ? `It costs ${formatSol(rentOfGrant(costs, funds))} SOL for the rent of the grant on chain, which does not come back, and the network fee of ${feeText()}.`
                    : `It costs the network fee of ${feeText()}.`}
            </li>
            <li>No USDC moves now. Each call moves its price into the escrow.</li>
        </ul>
    );
}

/** What a change of the approval means, as entries of a list. */
export const ApprovalEffects = ({ funds, approved }: { funds: Funds; approved: bigint }) => (
    <>
        <li>
            {approved === funds.approved
                ? `All keys together may take up to ${formatUsdc(approved)} USDC of your wallet, as before.`
                : `All keys together may take up to ${formatUsdc(approved)} USDC of your wallet. Now it is ${formatUsdc(funds.approved)}.`}
        </li>
        {approved > funds.approved && (
            <li>
                Part of that is headroom: a refund gives the price back to your wallet and to the key, and not to this
                approval. No key can spend more than its own limits.
            </li>
        )}
        {funds.otherDelegate !== null && approved !== funds.approved && (
            <li>
                Your account approves another address, {funds.otherDelegate}. That approval ends, because an account can
                have only one.
            </li>
        )}
        {approved > funds.holding && (
            <li>Your wallet holds {formatUsdc(funds.holding)} USDC. Calls beyond it are refused.</li>
        )}
    </>
);
