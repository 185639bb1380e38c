// From which addresses the service calls creators, for their firewalls.

import type { Schemas } from '../../shared/api/client';
import { Copy } from '../../shared/ui/Copy';
import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './Creator.module.css';
import { words } from './words';

const w = words.outbound;

export const Outbound = ({ network }: { network: Schemas['NetworkResponse'] | undefined }) => (
    <section aria-labelledby="outbound" className="stack">
        <h2 id="outbound">{w.title}</h2>
        {network === undefined ? <Skeleton height="8rem" /> : <Addresses network={network} />}
    </section>
);

function Addresses({ network: { outbound_addresses: addresses, network } }: { network: Schemas['NetworkResponse'] }) {
    if (addresses.length === 0) {
        return <p>{network === 'local' ? w.local : w.none}</p>;
    }
    return (
        <>
            <p>{w.some}</p>
            <ul className={styles.addresses}>
                {addresses.map((address) => (
                    <li key={address} className="row">
                        <code>{address}</code>
                        <Copy text={address} what={address} />
                    </li>
                ))}
            </ul>
            {addresses.length > 1 && (
                <p>
                    <Copy text={addresses.join('\n')} what={w.all} />
                </p>
            )}
            <p className="muted small">
                {w.ranges}
                <code>GET /v1/network</code>
                {w.field}
                <code>outbound_addresses</code>.
            </p>
        </>
    );
}
