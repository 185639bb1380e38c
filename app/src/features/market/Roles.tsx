// Who has which role, what it may do, and how it changes hands.

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { accountLink } from '../../shared/explorer';
import { momentText } from '../../shared/time/moments';
import { Address } from '../../shared/ui/Address';
import { Table } from '../../shared/ui/Table';
import type { MarketFacts } from './facts';

type Role = {
    readonly name: string;
    readonly holder: string | null;
    readonly power: string;
    readonly changes: string;
    readonly more?: ReactNode;
};

const rolesOf = (facts: MarketFacts): Role[] => [
    {
        name: 'Admin',
        holder: facts.admin,
        power: 'Verifies creators, stops and resumes new calls, new listings and agents, announces parameters and roles. Never touches money in escrow.',
        changes: 'At once, when the nominated successor accepts',
        more: facts.pendingAdmin !== null && (
            <span className="row">
                Nominated: <RoleHolder address={facts.pendingAdmin} />
            </span>
        ),
    },
    {
        name: 'Resolver',
        holder: facts.resolver,
        power: 'Decides disputes, within the limits of the program.',
        changes: 'Announced 16 days before. The admin can remove a resolver at once',
        more:
            facts.resolver === null
                ? 'Disputes wait until a successor takes office.'
                : `In office since ${momentText(facts.resolverSince)}`,
    },
    {
        name: 'Guardian',
        holder: facts.guardian,
        power: 'Stops new calls and new listings, and suspends an agent. Only the admin resumes them.',
        changes: 'At once, by the admin',
    },
    {
        name: 'Gateway authority',
        holder: facts.gatewayAuthority,
        power: 'Hands in signed results and failures, and nothing else.',
        changes: 'At once, by the admin',
    },
    {
        name: 'Treasury owner',
        holder: facts.treasuryOwner,
        power: 'Receives the fees.',
        changes: 'Announced 16 days before',
    },
    {
        name: 'Insurance owner',
        holder: facts.insuranceOwner,
        power: 'Receives penalties. Neither the treasury nor the resolver.',
        changes: 'Announced 16 days before',
    },
];

const COLUMNS = [
    { name: 'Role', cell: ({ name }: Role) => <strong>{name}</strong> },
    {
        name: 'Holder',
        cell: ({ holder, more }: Role) => (
            <div>
                <RoleHolder address={holder} />
                {more && <div className="small muted">{more}</div>}
            </div>
        ),
    },
    { name: 'May', cell: ({ power }: Role) => power },
    { name: 'Changes', cell: ({ changes }: Role) => <span className="muted">{changes}</span> },
];

export const Roles = ({ facts }: { facts: MarketFacts }) => (
    <Table caption="Roles of the marketplace" columns={COLUMNS} rows={rolesOf(facts)} rowKey={({ name }) => name} />
);

/** The holder of a role, with a link to the explorer. */
export function RoleHolder({ address }: { address: string | null }) {
    const { data: network } = useQuery(networkQuery);
    if (address === null) return <em>nobody</em>;
    return <Address value={address} href={accountLink(network, address)} />;
}
