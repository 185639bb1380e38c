// The name of the network in the header, and whether the index keeps up with it. It leads to the page about both.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { networkQuery, statusQuery } from '../../shared/api/queries';
import styles from './NetworkBadge.module.css';

const STATES: Record<string, string> = { degraded: 'problems', stale: 'behind' };
const NAMES: Record<string, string> = { local: 'Local', devnet: 'Devnet', mainnet: 'Mainnet' };

export function NetworkBadge() {
    const { data: network } = useQuery(networkQuery);
    const { data: status, isError } = useQuery(statusQuery);
    const name = network === undefined ? 'Network' : (NAMES[network.network] ?? network.network);
    const state = isError
        ? 'no connection'
        : status === undefined
          ? 'connecting'
          : (STATES[status.status] ?? status.status);
    const isGood = state === 'live';
    return (
        <Link to="/network" className={styles.badge} title={`${name}: ${state}`}>
            <span className={`${styles.dot} ${isGood ? styles.live : styles.behind}`} aria-hidden="true" />
            <span>{name}</span>
            <span className={isGood ? 'visually-hidden' : styles.state}>: {state}</span>
        </Link>
    );
}
