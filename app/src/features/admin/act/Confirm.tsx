// The question before a dangerous action. The browser's own dialog keeps the focus inside, closes with Escape, and
// gives the focus back.

import { type ReactNode, useEffect, useId, useRef } from 'react';

import { Button } from '../../../shared/ui/Button';
import styles from '../Admin.module.css';

export type ConfirmProps = {
    question: string;
    label: string;
    isDangerous: boolean;
    children: ReactNode;
    onConfirm: () => void;
    onCancel: () => void;
};

export function Confirm({ question, label, isDangerous, children, onConfirm, onCancel }: ConfirmProps) {
    const dialog = useRef<HTMLDialogElement>(null);
    const id = useId();
    useEffect(() => {
        if (dialog.current?.open === false) dialog.current.showModal();
    }, []);
    // Closing gives the focus back; the event of it tells the parent.
    const close = (): void => dialog.current?.close();
    const confirm = (): void => {
        close();
        onConfirm();
    };
    return (
        <dialog ref={dialog} className={styles.dialog} aria-labelledby={id} onClose={onCancel}>
            <div className="stack">
                <h2 id={id}>{question}</h2>
                {children}
                <div className="row">
                    <Button onPress={close}>Cancel</Button>
                    <Button look={isDangerous ? 'danger' : 'primary'} onPress={confirm}>
                        {label}
                    </Button>
                </div>
            </div>
        </dialog>
    );
}
