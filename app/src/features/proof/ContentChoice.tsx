// Where content that was not found can come from: a file of the reader, or an IPFS gateway.

import { type SubmitEvent, useId, useState } from 'react';

import { Button } from '../../shared/ui/Button';
import { TextField } from '../../shared/ui/Field';
import { hostUrl } from './node';
import styles from './Proof.module.css';
import type { ContentSource } from './query';
import { words } from './words';

export type ContentChoiceProps = {
    why: string;
    source: ContentSource;
    onChoose: (source: ContentSource) => void;
};

export function ContentChoice({ why, source, onChoose }: ContentChoiceProps) {
    const id = useId();
    const number = source.kind === 'file' ? source.number + 1 : 1;
    return (
        <section className="stack" aria-labelledby={`${id}-title`}>
            <h2 id={`${id}-title`}>{words.contentOther}</h2>
            <p>{words.contentMissing(why)}</p>
            <div className={styles.choice}>
                <div className={styles.file}>
                    <label htmlFor={id}>{words.file}</label>
                    <input
                        id={id}
                        type="file"
                        aria-describedby={`${id}-hint`}
                        onChange={({ target }) => {
                            const file = target.files?.[0];
                            if (file !== undefined) onChoose({ kind: 'file', file, number });
                        }}
                    />
                    <p id={`${id}-hint`} className="small muted">
                        {words.fileHint}
                    </p>
                </div>
                <Gateway onChoose={(url) => onChoose({ kind: 'gateway', url })} />
            </div>
        </section>
    );
}

function Gateway({ onChoose }: { onChoose: (url: string) => void }) {
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
                label={words.gateway}
                hint={words.gatewayHint}
                error={isWrong ? words.gatewayWrong : undefined}
                value={text}
                onChange={(event) => {
                    setText(event.target.value);
                    setWrong(false);
                }}
                inputMode="url"
                autoComplete="off"
                dir="ltr"
            />
            <Button type="submit">{words.takeFrom}</Button>
        </form>
    );
}
