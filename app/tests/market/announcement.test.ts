// When an announcement can be applied, and what a form of roles accepts: the same as the program.

import { type Address, address } from '@solana/kit';
import { expect, test } from 'vitest';

import { NOBODY } from '../../src/chain/market';
import { apartProblem } from '../../src/features/admin/roles/apart';
import { type Successors, readSuccessors } from '../../src/features/admin/roles/successors';
import { ANNOUNCEMENT_LIFE_S, announcementState } from '../../src/features/market/announcement';

test.each([
    [0, 5, 'none'],
    [1_000, 999, 'waiting'],
    [1_000, 1_000, 'due'],
    [1_000, 1_000 + ANNOUNCEMENT_LIFE_S, 'due'],
    [1_000, 1_001 + ANNOUNCEMENT_LIFE_S, 'lapsed'],
])('an announcement for %i is, at %i, %s', (applyFrom, now, state) => {
    expect(announcementState(applyFrom, now)).toBe(state);
});

const [RESOLVER, TREASURY, INSURANCE, NEW, ADMIN, GATEWAY, GUARDIAN] = [
    'HAcF3ivHQne26oRqpKjv41J8ktz5mpa4whVkziTyeySe',
    '2Y4ftVeWi6YAiFhjXAFjY1HCzizyv1t6HtJMCHTESzVR',
    'XizRH5tm3eu4MzALzwwAX2USgy3mD43FY1jgz6JQVjh',
    'BonqHrpEfZNuHcnAwPmG3XoV5vBabAzD2249Ud6oUTHz',
    '82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8',
    '4LWe7yJS7sgcZSnGtPgo6XMby8omoqrZPM1Hj7B8bQj7',
    'BUGuuhPsHpk8YZrL2GctsCtXGneL1gmT5zYb7eMHZDWf',
].map(address) as [Address, Address, Address, Address, Address, Address, Address];
const HOLDERS = {
    admin: ADMIN,
    resolver: RESOLVER,
    gatewayAuthority: GATEWAY,
    treasuryOwner: TREASURY,
    insuranceOwner: INSURANCE,
    guardian: GUARDIAN,
};
const read = (successors: Partial<Successors>) =>
    readSuccessors({ resolver: '', treasuryOwner: '', insuranceOwner: '', ...successors }, HOLDERS);

test('one successor is enough, and the other roles are not announced', () => {
    expect(read({ resolver: ` ${NEW} ` })).toMatchObject({
        isValid: true,
        named: { resolver: NEW, treasuryOwner: null, insuranceOwner: null },
    });
});

test('a form without a name announces nothing', () => {
    expect(read({})).toMatchObject({ isEmpty: true, isValid: false, problems: {} });
});

test.each([
    ['what is no address', { resolver: 'x' }, ['resolver']],
    ['the zero address', { resolver: '11111111111111111111111111111111' }, ['resolver']],
    ['the holder of today', { resolver: RESOLVER }, ['resolver']],
    ['an insurance that is the resolver', { insuranceOwner: RESOLVER }, ['insuranceOwner']],
    ['an insurance that is the treasury', { insuranceOwner: TREASURY }, ['insuranceOwner']],
    ['a resolver that is the insurance', { resolver: INSURANCE }, ['resolver']],
    ['a resolver that is the admin', { resolver: ADMIN }, ['resolver']],
    ['a resolver that is the guardian', { resolver: GUARDIAN }, ['resolver']],
    ['a treasury that is the gateway', { treasuryOwner: GATEWAY }, ['treasuryOwner']],
    ['a resolver that is the announced treasury', { resolver: NEW, treasuryOwner: NEW }, ['resolver', 'treasuryOwner']],
    ['a treasury that is the announced insurance', { treasuryOwner: NEW, insuranceOwner: NEW }, ['insuranceOwner']],
])('%s is refused at its field', (_, successors, fields) => {
    const { problems, isValid } = read(successors);
    expect(Object.keys(problems)).toEqual(fields);
    expect(isValid).toBe(false);
});

test('a resolver who was the insurance is taken if another insurance follows', () => {
    expect(read({ resolver: INSURANCE, insuranceOwner: NEW }).isValid).toBe(true);
});

test('a resolver and a treasury owner can change places', () => {
    expect(read({ resolver: TREASURY, treasuryOwner: RESOLVER }).isValid).toBe(true);
});

test('no key gets two of the roles that check each other, and a role without a holder takes none away', () => {
    expect(apartProblem('guardian', ADMIN, HOLDERS)).toContain('This key is the admin.');
    expect(apartProblem('gatewayAuthority', GUARDIAN, HOLDERS)).toContain('This key is the guardian.');
    expect(apartProblem('guardian', GUARDIAN, HOLDERS)).toBeUndefined();
    expect(apartProblem('guardian', INSURANCE, HOLDERS)).toBeUndefined();
    expect(apartProblem('guardian', NOBODY, { ...HOLDERS, resolver: NOBODY })).toBeUndefined();
});
