// From which addresses the service calls creators, for their firewalls.

import type { Schemas } from '../../shared/api/client';
import { Copy } from '../../shared/ui/Copy';
import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './Creator.module.css';

export const Outbound = ({ network }: { network: Schemas['NetworkResponse'] | undefined }) => (
    <section aria-labelledby="outbound" className="stack">
        <h2 id="outbound">Where calls come from</h2>
        {network === undefined ? <Skeleton height="8rem" /> : <Addresses network={network} />}
    </section>
);

function Addresses({ network: { outbound_addresses: addresses, network } }: { network: Schemas['NetworkResponse'] }) {
    if (addresses.length === 0) {
        return (
            <p>
                {network === 'local'
                    ? 'On a local network the calls of your service come from this machine itself.'
                    : 'This service publishes no addresses. Your service cannot tell its calls by where they come from; the signature of a result protects your payment.'}
            </p>
        );
    }
    return (
        <>
            <p>
                This service calls your endpoint from these addresses alone. If a firewall stands in front of it, let
                them through to the port of your endpoint, which is 443 unless your URL names another one. Everything
                else may be refused.
            </p>
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
                    <Copy text={addresses.join('\n')} what="all addresses" />
                </p>
            )}
            <p className="muted small">
                An address ending in /24 or the like is a range. The list can change: <code>GET /v1/network</code> has
                it as <code>outbound_addresses</code>.
            </p>
        </>
    );
}
