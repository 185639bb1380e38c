// What a refusal of the program means, said where its own words do not say the way on.

import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { meaningOf } from '../src/chain/refusals';

const errorOf = (code: number | bigint): object => ({ InstructionError: [2, { Custom: code }] });

test.each([
    [10, 'Only the admin resumes'],
    [113, 'none of these roles'],
    [152, 'letters of one script'],
    [217, 'Choose another agent'],
    [313, 'the creator has signed'],
    [610, '00:00 UTC'],
])('the program’s error %i is explained', (number, words) => {
    expect(meaningOf(errorOf(6_000 + number))).toContain(words);
    expect(meaningOf(errorOf(BigInt(6_000 + number)))).toContain(words);
});

test('what explains itself, and what is no error of the program, has no explanation', () => {
    for (const error of [
        errorOf(6_001),
        errorOf(1),
        { InstructionError: [0, 'InvalidAccountData'] },
        'AccountNotFound',
    ])
        expect(meaningOf(error)).toBeNull();
    expect(meaningOf(null)).toBeNull();
    expect(meaningOf({ InstructionError: [0, null] })).toBeNull();
});

test('the numbers are those of the program', () => {
    const source = readFileSync(new URL('../src/generated/errors/agentMarketplace.ts', import.meta.url), 'utf8');
    for (const [name, number] of [
        ['NOT_GUARDIAN', 10],
        ['ROLES_NOT_APART', 113],
        ['DISPLAY_NAME_MIXES_SCRIPTS', 152],
        ['AGENT_SUSPENDED', 217],
        ['FAILURE_PROOF_MISPLACED', 313],
        ['DAILY_CAP_EXCEEDED', 610],
    ] as const)
        expect(source).toContain(`${name} = 0x${(6_000 + number).toString(16)};`);
});
