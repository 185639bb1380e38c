// Says on every page what of the market is stopped.

import { useQuery } from '@tanstack/react-query';

import { networkQuery } from '../shared/api/queries';
import { stoppedText } from '../shared/pause';
import { Notice } from '../shared/ui/Notice';
import styles from './Shell.module.css';

const ASK_MS = 20_000;

export function PausedBanner() {
    const { data: network } = useQuery({ ...networkQuery, refetchInterval: ASK_MS });
    const stopped = network ? stoppedText(network.openings_paused, network.listings_paused) : null;
    return (
        <div role="status" className={styles.bar}>
            {stopped !== null && (
                <Notice kind="warn" title={`Paused: ${stopped}`}>
                    <p>
                        The admin or the guardian has stopped this for now. Calls under way, refunds, disputes and
                        withdrawals go on as before.
                    </p>
                </Notice>
            )}
        </div>
    );
}
