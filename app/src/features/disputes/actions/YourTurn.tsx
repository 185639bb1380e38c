// Says at the top of the page what the wallet can do, and links to the form further down.

import { buttonClass } from '../../../shared/ui/Button';
import { Notice } from '../../../shared/ui/Notice';
import { type Case, powersOf, upholdableFrom } from '../chain/case';

export function YourTurn({ found, wallet }: { found: Case; wallet: string }) {
    const { canAnswer, canDecide, canExpire } = powersOf(found, wallet);
    return (
        <>
            {canAnswer && (
                <Step title="Your answer is missing" link="Answer" to="#answer">
                    {found.now < upholdableFrom(found)
                        ? 'You have 24 hours before the dispute can be upheld without one.'
                        : 'The dispute can be upheld without it now. You can still answer until it is decided.'}
                </Step>
            )}
            {canDecide && (
                <Step title="It waits for your decision" link="Decide" to="#decide">
                    Read both sides and check the result first.
                </Step>
            )}
            {canExpire && !canDecide && (
                <Step title="The time for a decision is over" link="End it" to="#expire">
                    You can end the dispute. The creator then keeps the price, and the caller has the bond back.
                </Step>
            )}
        </>
    );
}

const Step = ({ title, link, to, children }: { title: string; link: string; to: string; children: string }) => (
    <Notice kind="warn" title={title}>
        <p>{children}</p>
        <p>
            <a href={to} className={buttonClass()}>
                {link}
            </a>
        </p>
    </Notice>
);
