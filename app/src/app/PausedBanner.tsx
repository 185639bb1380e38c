// Says on every page that the admin has paused the market.

import { useQuery } from '@tanstack/react-query';

import { networkQuery } from '../shared/api/queries';
import { Notice } from '../shared/ui/Notice';
import styles from './Shell.module.css';

const ASK_MS = 20_000;

export function PausedBanner() {
    const { data: network } = useQuery({ ...networkQuery, refetchInterval: ASK_MS });
    return (
        <div role="status" className={styles.bar}>
            {network?.paused === true && (
                <Notice kind="warn" title="Paused: no new calls, no new listings">
                    <p>
                        The admin has stopped them for now. Calls under way, refunds, disputes and withdrawals go on as
                        before.
                    </p>
                </Notice>
            )}
        </div>
    );
}
