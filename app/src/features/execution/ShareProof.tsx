// The link to the public proof of an execution, for people without a wallet.

import type { Schemas } from '../../shared/api/client';
import { proofPath } from '../../shared/proofLink';
import { buttonClass } from '../../shared/ui/Button';
import { Copy } from '../../shared/ui/Copy';
import styles from './Execution.module.css';
import { words } from './words';

export type ShareProofProps = { record: string; network: Schemas['NetworkResponse'] | undefined };

export function ShareProof({ record, network }: ShareProofProps) {
    const path = proofPath(record, network);
    return (
        <section className={styles.cost} aria-labelledby="share">
            <h2 id="share">{words.share.title}</h2>
            <p className="small muted">{words.share.about}</p>
            <p className="row">
                <Copy text={new URL(path, window.location.origin).href} what={words.share.link} look="plain" />
                <a href={path} target="_blank" rel="noreferrer" className={buttonClass('text')}>
                    {words.share.open}
                </a>
            </p>
        </section>
    );
}
