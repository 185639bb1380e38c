// What a call costs, what the wallet has, what the transaction will do, and what stands in the way.

import { feeText } from '../../chain/fee';
import { promiseText } from '../../shared/cover';
import { formatSol, formatUsdc } from '../../shared/money';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import { LOCAL_WALLET } from '../../shared/wallet/local/name';
import { useSession } from '../../shared/wallet/useSession';
import type { CallTerms } from './call/terms';
import { GetMoney } from './GetMoney';
import styles from './Run.module.css';
import type { Payment } from './usePayment';
import { words } from './words';

export function CostDetails({ payment }: { payment: Payment }) {
    const { session } = useSession();
    const { terms, network, obstacles, connection, error, retry } = payment;
    return (
        <section className={styles.card} aria-labelledby="cost">
            <h2 id="cost">{words.cost}</h2>
            {error !== null && <Failure error={error} onRetry={retry} />}
            {network?.rpc_url === null && (
                <Notice kind="warn" title={words.noNode}>
                    <p>{words.noNodeText}</p>
                </Notice>
            )}
            {obstacles.map(({ title, text, isFunds }) => (
                <Notice key={title} kind="warn" title={title}>
                    <p>{text}</p>
                    {isFunds && connection?.wallet.name === LOCAL_WALLET && network && (
                        <GetMoney address={connection.account.address} network={network} />
                    )}
                </Notice>
            ))}
            <Figures payment={payment} />
            <h3>{words.steps}</h3>
            {terms ? <Steps terms={terms} isSignedIn={Boolean(session)} /> : <Skeleton height="12rem" />}
            <p className="small">
                <strong>{words.publicTitle}</strong> {words.publicText}
            </p>
        </section>
    );
}

const NOTHING = '\u2013';

function Figures({ payment: { terms, funds, connection } }: { payment: Payment }) {
    const soon = <Skeleton height="1.5rem" width="6rem" />;
    const balance = funds ? `${formatUsdc(funds.usdc)} USDC` : soon;
    return (
        <dl className={styles.figures}>
            <dt>{words.price}</dt>
            <dd className="number">{terms ? `${formatUsdc(terms.price)} USDC` : soon}</dd>
            <dt>{words.balance}</dt>
            <dd className="number">{connection === null ? NOTHING : balance}</dd>
            <dt>{words.afterwards}</dt>
            <dd className="number">{terms && funds ? afterwards(funds.usdc - terms.price) : NOTHING}</dd>
            <dt>{words.cover}</dt>
            <dd className="number">{terms ? promiseText(terms.minCover) : soon}</dd>
            <dt>{words.fee}</dt>
            <dd className="number">{feeText()}</dd>
            <dt>{words.deposit}</dt>
            <dd className="number">{terms ? `${formatSol(terms.rent)} SOL` : soon}</dd>
        </dl>
    );
}

const afterwards = (left: bigint): string => (left >= 0n ? `${formatUsdc(left)} USDC` : words.notEnough);

const Steps = ({ terms, isSignedIn }: { terms: CallTerms; isSignedIn: boolean }) => (
    <ol className={styles.steps}>
        <li>{isSignedIn ? words.signOnce : words.signInFirst}</li>
        <li>{words.escrow}</li>
        <li>{words.works(words.seconds(terms.timeoutSeconds))}</li>
        <li>{words.ends(terms.binding, words.seconds(terms.timeoutSeconds + terms.graceSeconds))}</li>
    </ol>
);
