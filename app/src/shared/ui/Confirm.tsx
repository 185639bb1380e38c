// The question before an action with far consequences. The browser's own dialog keeps the focus inside, closes with
// Escape, and gives the focus back.

import { type ReactNode, useEffect, useId, useRef, useState } from 'react';

import { Button } from './Button';
import styles from './Confirm.module.css';
import { Checkbox } from './Field';
import { words } from './words';

export type ConfirmProps = {
    question: string;
    /** On the button that does it. */
    label: string;
    isDangerous: boolean;
    /** What happens. */
    children: ReactNode;
    /** What the user has to tick first, where nothing brings back what is taken away. */
    acknowledge?: string;
    onConfirm: () => void;
    /** Also after a confirmation: the dialog has closed. */
    onClose: () => void;
};

export function Confirm({ question, label, isDangerous, children, acknowledge, onConfirm, onClose }: ConfirmProps) {
    const dialog = useRef<HTMLDialogElement>(null);
    const [isTicked, setTicked] = useState(false);
    const [problem, setProblem] = useState('');
    const id = useId();
    useEffect(() => {
        if (dialog.current?.open === false) dialog.current.showModal();
    }, []);
    // Closing gives the focus back; the event of it tells the parent.
    const close = (): void => dialog.current?.close();
    const confirm = (): void => {
        if (acknowledge !== undefined && !isTicked) return setProblem(words.confirm.tickFirst);
        close();
        onConfirm();
    };
    return (
        <dialog ref={dialog} className={styles.dialog} aria-labelledby={id} onClose={onClose}>
            <div className="stack">
                <h2 id={id}>{question}</h2>
                {children}
                {acknowledge !== undefined && (
                    <div>
                        <Checkbox
                            label={acknowledge}
                            checked={isTicked}
                            onChange={({ target }) => {
                                setTicked(target.checked);
                                setProblem('');
                            }}
                        />
                        <p role="status" className={styles.problem}>
                            {problem}
                        </p>
                    </div>
                )}
                <div className="row">
                    <Button onPress={close}>{words.confirm.cancel}</Button>
                    <Button look={isDangerous ? 'danger' : 'primary'} onPress={confirm}>
                        {label}
                    </Button>
                </div>
            </div>
        </dialog>
    );
}
