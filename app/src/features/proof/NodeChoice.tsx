// The choice of a Solana node: a public one of a cluster, or one that the reader types.

import { KNOWN_NETWORKS } from '../../shared/proofLink';
import { Button } from '../../shared/ui/Button';
import { HostForm } from './HostForm';
import { type ChosenNode, PUBLIC_NODES } from './node';
import styles from './Proof.module.css';
import { words } from './words';

export function NodeChoice({ onChoose }: { onChoose: (node: ChosenNode) => void }) {
    return (
        <div className={styles.choice}>
            <div className="row">
                {KNOWN_NETWORKS.map((network) => (
                    <Button key={network} onPress={() => onChoose({ url: PUBLIC_NODES[network], source: 'public' })}>
                        {words.publicNode(network)}
                    </Button>
                ))}
            </div>
            <HostForm
                label={words.nodeUrl}
                hint={words.nodeHint}
                wrong={words.nodeWrong}
                action={words.ask}
                onChoose={(url) => onChoose({ url, source: 'reader' })}
            />
        </div>
    );
}
