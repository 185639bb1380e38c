// Says on every page what of the market is stopped.

import { useQuery } from '@tanstack/react-query';

import { networkQuery } from '../shared/api/queries';
import { stoppedText } from '../shared/pause';
import { Notice } from '../shared/ui/Notice';
import styles from './Shell.module.css';
import { words } from './words';

/** Somebody who is about to pay has to learn of a pause soon, so this asks twice a minute. */
const ASK_MS = 30_000;

export function PausedBanner() {
    const { data: network } = useQuery({ ...networkQuery, refetchInterval: ASK_MS });
    const stopped = network ? stoppedText(network.openings_paused, network.listings_paused) : null;
    return (
        <div role="status" className={styles.bar}>
            {stopped !== null && (
                <Notice kind="warn" title={words.paused.title(stopped)}>
                    <p>{words.paused.text}</p>
                </Notice>
            )}
        </div>
    );
}
