// The addresses that a form of roles names, and why the program would refuse them (`announce_roles`).

import { type Address, isAddress } from '@solana/kit';

import { NOBODY } from '../../../chain/market';
import type { Config } from '../../../generated/accounts/config';
import type { AnnouncedRoleName } from '../../market';
import { type ApartHolders, apartProblem } from './apart';
import { words } from '../words';

export type Successors = Readonly<Record<AnnouncedRoleName, string>>;
export type SuccessorProblems = Partial<Record<AnnouncedRoleName, string>>;

export const NO_SUCCESSORS: Successors = { resolver: '', treasuryOwner: '', insuranceOwner: '' };
const ROLES = Object.keys(NO_SUCCESSORS) as AnnouncedRoleName[];
/** Those of them that check each other. */
const APART = ['resolver', 'treasuryOwner'] as const;

type Holders = Pick<Config, AnnouncedRoleName> & ApartHolders;

/** The address, `null` if none is written, or a problem. */
export function readAddress(text: string): { readonly address: Address | null; readonly problem?: string } {
    const trimmed = text.trim();
    if (trimmed === '') return { address: null };
    if (!isAddress(trimmed)) return { address: null, problem: words.successors.badAddress };
    if (trimmed === NOBODY) return { address: null, problem: words.successors.cannotSign };
    return { address: trimmed };
}

/** An empty field changes nothing. */
export function readSuccessors(successors: Successors, holders: Holders) {
    const problems: SuccessorProblems = {};
    const named = {} as Record<AnnouncedRoleName, Address | null>;
    for (const role of ROLES) {
        const { address, problem } = readAddress(successors[role]);
        named[role] = address;
        if (problem !== undefined) problems[role] = problem;
        else if (address === holders[role]) problems[role] = words.successors.already;
    }
    const after = { ...holders, ...onlyNamed(named) };
    for (const role of APART) {
        const { [role]: address } = named;
        const problem = address === null ? undefined : apartProblem(role, address, after);
        if (problem !== undefined) problems[role] ??= problem;
    }
    const { resolver, treasuryOwner, insuranceOwner } = after;
    const conflict = insuranceOwner === treasuryOwner || insuranceOwner === resolver;
    const place = ROLES.toReversed().find((role) => named[role] !== null);
    if (conflict && place !== undefined && problems[place] === undefined) {
        problems[place] = words.successors.insuranceApart;
    }
    const isEmpty = ROLES.every((role) => successors[role].trim() === '');
    return { named, problems, isEmpty, isValid: !isEmpty && Object.keys(problems).length === 0 };
}

const onlyNamed = (named: Record<AnnouncedRoleName, Address | null>): Partial<Holders> =>
    Object.fromEntries(Object.entries(named).filter(([, address]) => address !== null));
