// Where content that was not found can come from: a file of the reader, or an IPFS gateway.

import { useId } from 'react';

import { HostForm } from './HostForm';
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
                <HostForm
                    label={words.gateway}
                    hint={words.gatewayHint}
                    wrong={words.gatewayWrong}
                    action={words.takeFrom}
                    onChoose={(url) => onChoose({ kind: 'gateway', url })}
                />
            </div>
        </section>
    );
}
