// One action of the admin or the guardian: what it changes, the button, a question where it is dangerous, and how it goes.

import { type ReactNode, useState } from 'react';

import { Button } from '../../../shared/ui/Button';
import { Confirm } from '../../../shared/ui/Confirm';
import { useTransaction } from '../../../shared/wallet/useTransaction';
import { TransactionState } from '../../wallet';
import styles from '../Admin.module.css';
import { type Make, useRequest } from './requests';

export type ActionProps = {
    /** On the button, such as `Pause the market`. */
    label: string;
    /** What changes, for whom, and when. */
    effects: readonly ReactNode[];
    /** An action with far consequences asks this first. */
    question?: string;
    /** Whether it takes something away. */
    isDangerous?: boolean;
    /** Why it is not possible at present. */
    obstacle?: string | undefined;
    /**
     * The thing that the action changes does not exist (any more): only the outcome of the last transaction is shown.
     */
    isGone?: boolean;
    make: Make;
    /** Once the index shows it. */
    after?: () => void;
    /** Said once it is done. */
    done: string;
};

export function Action({
    label,
    effects,
    question,
    isDangerous = false,
    obstacle,
    isGone = false,
    make,
    after,
    done,
}: ActionProps) {
    const { status, isBusy, send } = useTransaction();
    const request = useRequest();
    const [isAsking, setAsking] = useState(false);
    // The words of the action may change once the chain shows its effect.
    const [whenDone, setWhenDone] = useState(done);
    const start = (): void => {
        setWhenDone(done);
        void send({ build: request(make), ...(after && { after }) });
    };
    if (isGone) return <TransactionState status={status} done={whenDone} />;
    const list = <Effects effects={effects} />;
    return (
        <div className={styles.action}>
            {list}
            {obstacle !== undefined && <p className={styles.obstacle}>{obstacle}</p>}
            <div>
                <Button
                    look={isDangerous ? 'danger' : 'plain'}
                    onPress={() => (question === undefined ? start() : setAsking(true))}
                    isDisabled={obstacle !== undefined || isBusy}
                >
                    {question === undefined ? label : `${label} …`}
                </Button>
            </div>
            {question !== undefined && isAsking && (
                <Confirm
                    question={question}
                    label={label}
                    isDangerous={isDangerous}
                    onConfirm={start}
                    onClose={() => setAsking(false)}
                >
                    {list}
                </Confirm>
            )}
            <TransactionState status={status} done={whenDone} />
        </div>
    );
}

const Effects = ({ effects }: { effects: readonly ReactNode[] }) => (
    <ul className={styles.effects}>
        {effects.map((effect, index) => (
            <li key={index}>{effect}</li>
        ))}
    </ul>
);
