// No key may have two of the roles that check each other: the rule of the program (`check_roles_apart`).

import { NOBODY } from '../../../chain/market';
import type { Config } from '../../../generated/accounts/config';
import { words } from '../words';

const NAMES = {
    admin: 'admin',
    resolver: 'resolver',
    gatewayAuthority: 'gateway authority',
    treasuryOwner: 'treasury owner',
    guardian: 'guardian',
} as const;

export type ApartRole = keyof typeof NAMES;
export type ApartHolders = Pick<Config, ApartRole>;

const ROLES = Object.keys(NAMES) as ApartRole[];

/** Why this address cannot have the role, because it has another one; `undefined` if it can. */
export function apartProblem(role: ApartRole, address: string, holders: ApartHolders): string | undefined {
    const taken = ROLES.find((other) => other !== role && address !== NOBODY && holders[other] === address);
    return taken === undefined ? undefined : words.apart.taken(NAMES[taken]);
}
