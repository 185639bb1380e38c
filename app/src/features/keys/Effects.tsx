// What a grant changes and costs, before anything is signed.

import { feeText } from '../../chain/fee';
import { ExactTime } from '../../shared/ui/ExactTime';
import { type Costs, type Funds, approvalWith, rentOfGrant } from './funds';
import styles from './Keys.module.css';
import { type Limits, expiresAt } from './limits';
import { words } from './words';

const t = words.effects;

export type EffectsProps = {
    funds: Funds;
    costs: Costs;
    limits: Limits;
    /** Of the key that exists already; else empty. */ sessionKey: string;
};

export function Effects({ funds, costs, limits, sessionKey }: EffectsProps) {
    const approved = approvalWith(funds, sessionKey, limits.totalCap, limits.perCallCap);
    const isNew = !funds.grants.some((grant) => grant.sessionKey === sessionKey);
    return (
        <ul className={styles.effects}>
            <li>
                {t.mayPay(limits.agents.length, limits)} <ExactTime at={Number(expiresAt(limits, funds.now))} />.
            </li>
            <ApprovalEffects funds={funds} approved={approved} />
            <li>{isNew ? t.rentAndFee(rentOfGrant(costs, funds), feeText()) : t.fee(feeText())}</li>
            <li>{t.noUsdcMoves}</li>
        </ul>
    );
}

/** What a change of the approval means, as entries of a list. */
export const ApprovalEffects = ({ funds, approved }: { funds: Funds; approved: bigint }) => (
    <>
        <li>{approved === funds.approved ? t.sameApproval(approved) : t.newApproval(approved, funds.approved)}</li>
        {approved > funds.approved && <li>{t.headroom}</li>}
        {funds.otherDelegate !== null && approved !== funds.approved && <li>{t.otherDelegate(funds.otherDelegate)}</li>}
        {approved > funds.holding && <li>{t.shortHolding(funds.holding)}</li>}
    </>
);
