// Who has which role, what it may do, and how it changes hands.

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { accountLink } from '../../shared/explorer';
import { momentText } from '../../shared/time/moments';
import { Address } from '../../shared/ui/Address';
import { Table } from '../../shared/ui/Table';
import { ROLES_DELAY_S } from './announcement';
import type { MarketFacts } from './facts';
import { words } from './words';

const w = words.roles;

type Role = {
    readonly name: string;
    readonly holder: string | null;
    readonly power: string;
    readonly changes: string;
    readonly more?: ReactNode;
};

const DAYS = ROLES_DELAY_S / 86_400;

const rolesOf = (facts: MarketFacts): Role[] => [
    {
        name: w.admin.name,
        holder: facts.admin,
        power: w.admin.power,
        changes: w.admin.changes,
        more: facts.pendingAdmin !== null && (
            <span className="row">
                {w.admin.nominated}
                <RoleHolder address={facts.pendingAdmin} />
            </span>
        ),
    },
    {
        name: w.resolver.name,
        holder: facts.resolver,
        power: w.resolver.power,
        changes: w.resolver.changes(DAYS),
        more: facts.resolver === null ? w.resolver.none : w.resolver.since(momentText(facts.resolverSince)),
    },
    { ...w.guardian, holder: facts.guardian, changes: w.atOnceByAdmin },
    { ...w.gateway, holder: facts.gatewayAuthority, changes: w.atOnceByAdmin },
    { ...w.treasury, holder: facts.treasuryOwner, changes: w.announcedBefore(DAYS) },
    { ...w.insurance, holder: facts.insuranceOwner, changes: w.announcedBefore(DAYS) },
];

const COLUMNS = [
    { name: w.role, cell: ({ name }: Role) => <strong>{name}</strong> },
    {
        name: w.holder,
        cell: ({ holder, more }: Role) => (
            <div>
                <RoleHolder address={holder} />
                {more && <div className="small muted">{more}</div>}
            </div>
        ),
    },
    { name: w.power, cell: ({ power }: Role) => power },
    { name: w.changes, cell: ({ changes }: Role) => <span className="muted">{changes}</span> },
];

export const Roles = ({ facts }: { facts: MarketFacts }) => (
    <Table caption={w.table} columns={COLUMNS} rows={rolesOf(facts)} rowKey={({ name }) => name} />
);

/** The holder of a role, with a link to the explorer. */
export function RoleHolder({ address }: { address: string | null }) {
    const { data: network } = useQuery(networkQuery);
    if (address === null) return <em>{words.nobody}</em>;
    return <Address value={address} href={accountLink(network, address)} />;
}
