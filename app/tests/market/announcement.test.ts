// When an announcement can be applied, and what a form of roles accepts: the same as the program.

import { address } from '@solana/kit';
import { expect, test } from 'vitest';

import { readSuccessors } from '../../src/features/admin/roles/successors';
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

const [RESOLVER, TREASURY, INSURANCE, NEW] = [
    'HAcF3ivHQne26oRqpKjv41J8ktz5mpa4whVkziTyeySe',
    '2Y4ftVeWi6YAiFhjXAFjY1HCzizyv1t6HtJMCHTESzVR',
    'XizRH5tm3eu4MzALzwwAX2USgy3mD43FY1jgz6JQVjh',
    'BonqHrpEfZNuHcnAwPmG3XoV5vBabAzD2249Ud6oUTHz',
].map(address) as [
    ReturnType<typeof address>,
    ReturnType<typeof address>,
    ReturnType<typeof address>,
    ReturnType<typeof address>,
];
const HOLDERS = { resolver: RESOLVER, treasuryOwner: TREASURY, insuranceOwner: INSURANCE };
const read = (successors: Partial<Record<keyof typeof HOLDERS, string>>) =>
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
    ['a treasury that is the announced insurance', { treasuryOwner: NEW, insuranceOwner: NEW }, ['insuranceOwner']],
])('%s is refused at its field', (_, successors, fields) => {
    const { problems, isValid } = read(successors);
    expect(Object.keys(problems)).toEqual(fields);
    expect(isValid).toBe(false);
});

test('a resolver who was the insurance is taken if another insurance follows', () => {
    expect(read({ resolver: INSURANCE, insuranceOwner: NEW }).isValid).toBe(true);
});
