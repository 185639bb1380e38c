// What operators of agents need to know of this service, and where the documents are.

import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../shared/api/client';
import { visible } from '../../shared/text/visible';
import { Copy } from '../../shared/ui/Copy';
import { Section } from './Section';
import { words } from './words';

const w = words.creators;

export function CreatorsSection({
    network: { outbound_addresses: addresses },
}: {
    network: Schemas['NetworkResponse'];
}) {
    return (
        <>
            <Section title={w.addresses}>
                {addresses.length === 0 ? (
                    <p>{w.none}</p>
                ) : (
                    <>
                        <p>{w.some}</p>
                        <ul className="mono">
                            {addresses.map((address) => (
                                <li key={address}>{visible(address)}</li>
                            ))}
                        </ul>
                        <div>
                            <Copy text={addresses.join('\n')} what={w.copyAll} />
                        </div>
                    </>
                )}
            </Section>
            <Section title={w.documents}>
                <ul className="stack">
                    <li>
                        <Link to="/docs/api">{w.api}</Link>
                    </li>
                    <li>
                        <a href="/openapi.json" target="_blank" rel="noreferrer">
                            {w.openapi}
                        </a>
                    </li>
                    <li>
                        <a href="/v1/status" target="_blank" rel="noreferrer">
                            {w.status}
                        </a>
                    </li>
                    <li>
                        <a href="/v1/network" target="_blank" rel="noreferrer">
                            {w.network}
                        </a>
                    </li>
                </ul>
            </Section>
        </>
    );
}
