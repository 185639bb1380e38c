// The name of the network in the header, and whether the index keeps up with it. It leads to the page about both.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { networkQuery, statusQuery } from '../../shared/api/queries';
import { badgeWords as words } from './badgeWords';
import styles from './NetworkBadge.module.css';

export function NetworkBadge() {
    const { data: network } = useQuery(networkQuery);
    const { data: status, isError } = useQuery(statusQuery);
    const name = network === undefined ? words.unknown : (words.networks[network.network] ?? network.network);
    const state = isError
        ? words.offline
        : status === undefined
          ? words.connecting
          : (words.states[status.status] ?? status.status);
    const isGood = state === 'live';
    return (
        <Link to="/network" className={styles.badge} title={`${name}: ${state}`}>
            <span className={`${styles.dot} ${isGood ? styles.live : styles.behind}`} aria-hidden="true" />
            <span>{name}</span>
            <span className={isGood ? 'visually-hidden' : styles.state}>: {state}</span>
        </Link>
    );
}
