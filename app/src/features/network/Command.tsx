// A command to copy.

import { Copy } from '../../shared/ui/Copy';
import styles from './Network.module.css';
import { words } from './words';

export const Command = ({ text }: { text: string }) => (
    <div className={styles.command}>
        <code>{text}</code>
        <Copy text={text} what={words.digest.command} />
    </div>
);
