// What operators of agents need to know of this service, and where the documents are.

import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../shared/api/client';
import { visible } from '../../shared/text/visible';
import { Copy } from '../../shared/ui/Copy';
import { Section } from './Section';

export function CreatorsSection({
    network: { outbound_addresses: addresses },
}: {
    network: Schemas['NetworkResponse'];
}) {
    return (
        <>
            <Section title="Addresses that call agents">
                {addresses.length === 0 ? (
                    <p>This service publishes none. An agent behind a firewall has to be open for every address.</p>
                ) : (
                    <>
                        <p>Calls of agents come from these addresses. Allow them in the firewall of your agent.</p>
                        <ul className="mono">
                            {addresses.map((address) => (
                                <li key={address}>{visible(address)}</li>
                            ))}
                        </ul>
                        <div>
                            <Copy text={addresses.join('\n')} what="all addresses" />
                        </div>
                    </>
                )}
            </Section>
            <Section title="Documents">
                <ul className="stack">
                    <li>
                        <Link to="/docs/api">HTTP API</Link>
                    </li>
                    <li>
                        <a href="/openapi.json" target="_blank" rel="noreferrer">
                            OpenAPI description
                        </a>
                    </li>
                    <li>
                        <a href="/v1/status" target="_blank" rel="noreferrer">
                            Status for programs
                        </a>
                    </li>
                    <li>
                        <a href="/v1/network" target="_blank" rel="noreferrer">
                            Addresses, rules and limits for programs
                        </a>
                    </li>
                </ul>
            </Section>
        </>
    );
}
