// The field for a host that the reader names: a Solana node or an IPFS gateway.

import { type SubmitEvent, useState } from 'react';

import { Button } from '../../shared/ui/Button';
import { TextField } from '../../shared/ui/Field';
import { hostUrl } from './node';
import styles from './Proof.module.css';

export type HostFormProps = {
    label: string;
    hint: string;
    /** Shown if the text is no address of a host. */
    wrong: string;
    action: string;
    onChoose: (url: string) => void;
};

export function HostForm({ label, hint, wrong, action, onChoose }: HostFormProps) {
    const [text, setText] = useState('');
    const [isWrong, setWrong] = useState(false);
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        const url = hostUrl(text);
        setWrong(url === null);
        if (url !== null) onChoose(url);
    };
    return (
        <form onSubmit={submit} className={styles.form} noValidate>
            <TextField
                label={label}
                hint={hint}
                error={isWrong ? wrong : undefined}
                value={text}
                onChange={(event) => {
                    setText(event.target.value);
                    setWrong(false);
                }}
                inputMode="url"
                autoComplete="off"
                dir="ltr"
            />
            <Button type="submit">{action}</Button>
        </form>
    );
}
