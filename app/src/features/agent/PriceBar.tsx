// Price, time limit, cover and the button that pays, in a bar that stays at the top of the window.

import { promiseText } from '../../shared/cover';
import { formatMs } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { PayButton, type Payment } from '../run';
import styles from './PriceBar.module.css';
import type { Agent } from './query';
import { words } from './words';

export type PriceBarProps = { agent: Agent; payment: Payment; /** Id of the form. */ form: string; isBusy: boolean };

export function PriceBar({ agent, payment, form, isBusy }: PriceBarProps) {
    return (
        <section aria-label={words.priceBox} className={styles.bar}>
            <p className={styles.price}>
                <strong className="number">{formatUsdc(agent.price_per_call_usdc)}</strong> {words.perCall}
            </p>
            <dl className={styles.promises}>
                <div>
                    <dt>{words.timeLimit}</dt>
                    <dd className="number">{formatMs(agent.timeout_seconds * 1_000)}</dd>
                </div>
                <div>
                    <dt>{words.cover}</dt>
                    <dd className="number">{promiseText(agent.min_cover)}</dd>
                </div>
            </dl>
            {payment.obstacles.length === 0 ? (
                <p className={styles.note}>{words.escrow}</p>
            ) : (
                <p className={styles.reason}>
                    <a href="#cost">{words.cannotPay}</a>
                </p>
            )}
            <div className={styles.action}>
                <PayButton payment={payment} form={form} isBusy={isBusy} />
            </div>
        </section>
    );
}
