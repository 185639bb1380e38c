// What the connected wallet can do about a dispute. Forms appear and disappear with its state; the outcome of a
// transaction stays.

import type { Address } from '@solana/kit';

import type { Schemas } from '../../../shared/api/client';
import { useTransaction } from '../../../shared/wallet/useTransaction';
import { TransactionState } from '../../wallet';
import { type Case, powersOf } from '../chain/case';
import styles from '../Disputes.module.css';
import type { Dispute } from '../query';
import { AnswerForm } from './AnswerForm';
import { Cancel } from './Cancel';
import { DecideForm } from './DecideForm';
import { Expire } from './Expire';
import { words } from '../words';

export type ActionsProps = {
    dispute: Dispute;
    found: Case | null;
    wallet: Address;
    network: Schemas['NetworkResponse'] | undefined;
};

export function Actions({ dispute, found, wallet, network }: ActionsProps) {
    const answering = useTransaction();
    const deciding = useTransaction();
    const cancelling = useTransaction();
    const expiring = useTransaction();
    const rpcUrl = network?.rpc_url;
    if (found === null || !rpcUrl) return null;
    const common = { dispute, found, wallet, rpcUrl };
    const { canAnswer, canDecide, canCancel, canExpire } = powersOf(found, wallet);
    return (
        <div className={styles.actions}>
            {/* A form stays while its transaction is under way, although the chain may have changed already. */}
            {(canAnswer || answering.isBusy) && <AnswerForm {...common} transaction={answering} />}
            <TransactionState status={answering.status} done={words.answer.done} />
            {(canDecide || deciding.isBusy) && <DecideForm {...common} transaction={deciding} />}
            <TransactionState status={deciding.status} done={words.decide.done} />
            {(canCancel || cancelling.isBusy) && <Cancel {...common} transaction={cancelling} />}
            <TransactionState status={cancelling.status} done={words.cancel.done} />
            {(canExpire || expiring.isBusy) && <Expire {...common} transaction={expiring} />}
            <TransactionState status={expiring.status} done={words.expire.done} />
        </div>
    );
}
