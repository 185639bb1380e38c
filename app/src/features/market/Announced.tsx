// What is announced: what will change, and when.

import { Notice } from '../../shared/ui/Notice';
import { Differences } from './Differences';
import type { AnnouncedRoleName, MarketFacts } from './facts';
import { sameParameters } from './parameters';
import { RoleHolder } from './Roles';
import { When } from './When';
import { words } from './words';

const w = words.announced;

export function AnnouncedParameters({ facts }: { facts: MarketFacts }) {
    const announced = facts.announcedParameters;
    if (announced === null) return null;
    return (
        <Notice title={w.parameters}>
            <When applyFrom={announced.applyFrom} clock={facts} />
            {sameParameters(facts.parameters, announced.parameters) ? (
                <p>{w.same}</p>
            ) : (
                <Differences caption={w.table} before={facts.parameters} after={announced.parameters} />
            )}
        </Notice>
    );
}

const NAMES: Record<AnnouncedRoleName, string> = {
    resolver: words.roles.resolver.name,
    treasuryOwner: words.roles.treasury.name,
    insuranceOwner: words.roles.insurance.name,
};
export const ANNOUNCED_ROLES = Object.keys(NAMES) as AnnouncedRoleName[];
export const roleName = (role: AnnouncedRoleName): string => NAMES[role];

export function AnnouncedRoles({ facts }: { facts: MarketFacts }) {
    const announced = facts.announcedRoles;
    if (announced === null) return null;
    return (
        <Notice title={w.roles}>
            <When applyFrom={announced.applyFrom} clock={facts} />
            <ul className="stack">
                {ANNOUNCED_ROLES.filter((role) => announced.roles[role] !== null).map((role) => (
                    <li key={role} className="row">
                        {NAMES[role]}: <RoleHolder address={facts[role]} /> →{' '}
                        <RoleHolder address={announced.roles[role]} />
                    </li>
                ))}
            </ul>
        </Notice>
    );
}
