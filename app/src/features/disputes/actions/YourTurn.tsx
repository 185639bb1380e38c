// Says at the top of the page what the wallet can do, and links to the form further down.

import { buttonClass } from '../../../shared/ui/Button';
import { Notice } from '../../../shared/ui/Notice';
import { type Case, powersOf, upholdableFrom } from '../chain/case';
import { words } from '../words';

const t = words.turn;

export function YourTurn({ found, wallet }: { found: Case; wallet: string }) {
    const { canAnswer, canDecide, canExpire } = powersOf(found, wallet);
    return (
        <>
            {canAnswer && (
                <Step title={t.answer} link={t.toAnswer} to="#answer">
                    {found.now < upholdableFrom(found) ? t.answerInTime : t.answerLate}
                </Step>
            )}
            {canDecide && (
                <Step title={t.decide} link={t.toDecide} to="#decide">
                    {t.decideHint}
                </Step>
            )}
            {canExpire && !canDecide && (
                <Step title={t.expire} link={t.toExpire} to="#expire">
                    {t.expireHint}
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
