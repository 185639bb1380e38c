// What the search of the header offers for a text.

import { expect, test } from 'vitest';

import { CHANGE_THEME, sectionsOf } from '../src/app/find/entries';
import { PAGES } from '../src/app/navigation';

const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const EXECUTION = '806E1EBA-133b-4100-9a5e-ddbe7c578906';
const everything = () => true;
const idsOf = (text: string, exists: (route: string) => boolean = everything): string[] =>
    sectionsOf(text, [], PAGES, exists).map(({ id }) => id);
const toOf = (text: string, exists: (route: string) => boolean = everything): (string | undefined)[] =>
    sectionsOf(text, [], PAGES, exists).flatMap(({ entries }) => entries.map(({ to }) => to));

test('without a text it offers every page and every action', () => {
    expect(idsOf('')).toEqual(['pages', 'actions']);
    expect(toOf('')).toEqual(expect.arrayContaining(PAGES.map(({ to }) => to)));
});

test('an execution is opened by its id, in any case and between spaces', () => {
    expect(toOf(` ${EXECUTION} `)).toEqual([`/executions/${EXECUTION.toLowerCase()}`]);
});

test('an address can be an agent, a wallet or a record, as far as these pages exist', () => {
    expect(toOf(WALLET)).toEqual([
        `/agents/${WALLET}`,
        `/creators/${WALLET}`,
        '/',
        `/proof/${WALLET}`,
        `/disputes/${WALLET}`,
    ]);
    expect(toOf(WALLET, (route) => route === '/agents/$agentId')).toEqual([`/agents/${WALLET}`]);
});

test.each(['0OIl', `${WALLET}0`, '../admin', '//evil.example', 'javascript:alert(1)', `${EXECUTION}x`, '<b>'])(
    'the text %s opens nothing',
    (text) => {
        expect(idsOf(text)).not.toContain('open');
    },
);

test('words find pages by name and by what someone does there, in any order', () => {
    expect(toOf('keys')).toContain('/keys');
    expect(toOf('WITHIN let')).toEqual(['/keys']);
    expect(sectionsOf('theme', [], PAGES, everything).flatMap(({ entries }) => entries.map(({ id }) => id))).toEqual([
        CHANGE_THEME,
    ]);
    expect(idsOf('nothing of that name')).toEqual([]);
});
