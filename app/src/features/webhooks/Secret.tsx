// The one time that a secret is shown.

import { Copy } from '../../shared/ui/Copy';
import { Notice } from '../../shared/ui/Notice';
import styles from './Webhooks.module.css';
import { words } from './words';

export const Secret = ({ secret, children }: { secret: string; children: string }) => (
    <div role="status">
        <Notice kind="warn" title={words.secret.title}>
            <p>
                {children} {words.secret.once}
            </p>
            <code className={styles.secret}>{secret}</code>
            <div className="row">
                <Copy text={secret} what={words.secret.what} look="plain" />
            </div>
        </Notice>
    </div>
);
