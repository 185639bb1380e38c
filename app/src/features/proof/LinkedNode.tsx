// The warning about a node that only the link names. It is asked when the reader says so, and never before.

import { Button } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import styles from './Proof.module.css';
import { words } from './words';

export const LinkedNode = ({ url, onAsk }: { url: string; onAsk: () => void }) => (
    <Notice kind="warn" title={words.linkNames}>
        <p className={`mono ${styles.url}`}>{url}</p>
        <p>{words.linkWarning}</p>
        <p>
            <Button onPress={onAsk}>{words.askLinked}</Button>
        </p>
    </Notice>
);
