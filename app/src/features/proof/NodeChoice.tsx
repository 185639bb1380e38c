// The choice of a Solana node: a public one of a cluster, or one that the reader types.

import { type SubmitEvent, useState } from 'react';

import { KNOWN_NETWORKS } from '../../shared/proofLink';
import { Button } from '../../shared/ui/Button';
import { TextField } from '../../shared/ui/Field';
import { type ChosenNode, PUBLIC_NODES, hostUrl } from './node';
import styles from './Proof.module.css';
import { words } from './words';

export function NodeChoice({ onChoose }: { onChoose: (node: ChosenNode) => void }) {
    const [text, setText] = useState('');
    const [isWrong, setWrong] = useState(false);
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        const url = hostUrl(text);
        setWrong(url === null);
        if (url !== null) onChoose({ url, source: 'reader' });
    };
    return (
        <div className={styles.choice}>
            <div className="row">
                {KNOWN_NETWORKS.map((network) => (
                    <Button key={network} onPress={() => onChoose({ url: PUBLIC_NODES[network], source: 'public' })}>
                        {words.publicNode(network)}
                    </Button>
                ))}
            </div>
            <form onSubmit={submit} className={styles.form} noValidate>
                <TextField
                    label={words.nodeUrl}
                    hint={words.nodeHint}
                    error={isWrong ? words.nodeWrong : undefined}
                    value={text}
                    onChange={(event) => {
                        setText(event.target.value);
                        setWrong(false);
                    }}
                    inputMode="url"
                    autoComplete="off"
                    dir="ltr"
                />
                <Button type="submit">{words.ask}</Button>
            </form>
        </div>
    );
}
