// The name of the network in the header, and whether the index keeps up with it. It leads to the page about both.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { networkQuery, statusQuery } from '../../shared/api/queries';
import styles from './NetworkBadge.module.css';
import { words } from './words';

const w = words.badge;

export function NetworkBadge() {
    const { data: network } = useQuery(networkQuery);
    const { data: status, isError } = useQuery(statusQuery);
    const name = network === undefined ? w.unknown : (w.networks[network.network] ?? network.network);
    const state = isError
        ? w.offline
        : status === undefined
          ? w.connecting
          : (w.states[status.status] ?? status.status);
    const isGood = state === 'live';
    return (
        <Link to="/network" className={styles.badge} title={`${name}: ${state}`}>
            <span className={`${styles.dot} ${isGood ? styles.live : styles.behind}`} aria-hidden="true" />
            <span>{name}</span>
            <span className={isGood ? 'visually-hidden' : styles.state}>: {state}</span>
        </Link>
    );
}
