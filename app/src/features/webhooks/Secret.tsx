// The one time that a secret is shown.

import { Copy } from '../../shared/ui/Copy';
import { Notice } from '../../shared/ui/Notice';
import styles from './Webhooks.module.css';

export const Secret = ({ secret, children }: { secret: string; children: string }) => (
    <div role="status">
        <Notice kind="warn" title="Save this secret now">
            <p>{children} It is shown this one time.</p>
            <code className={styles.secret}>{secret}</code>
            <div className="row">
                <Copy text={secret} what="secret" look="plain" />
            </div>
        </Notice>
    </div>
);
