// Which pages the header links to, in which group, and which of them is open.

import { expect, test } from 'vitest';

import { PAGES, currentOf, entriesOf, pagesFor } from '../src/app/navigation';

const roles = { admin: 'A', pending_admin: 'N', guardian: 'G', resolver: 'R' } as never;
const links = (wallet: string | null, exists = (_: string) => true) => pagesFor(exists, wallet, roles);
const labels = (...given: Parameters<typeof links>): string[] => links(...given).map(({ label }) => label);
const OF_ROLES = ['Resolve', 'Admin'];

test.each([['A'], ['N'], ['G']])('the wallet %s has a use for the admin’s page', (wallet) => {
    expect(labels(wallet)).toContain('Admin');
    expect(labels(wallet)).not.toContain('Resolve');
});

test('the resolver has a link to the disputes that wait for a decision', () => {
    expect(labels('R')).toContain('Resolve');
    expect(labels('R')).not.toContain('Admin');
});

test.each([['x'], [null]])('the wallet %s sees every page but those of roles', (wallet) => {
    expect(labels(wallet)).toEqual(PAGES.map(({ label }) => label).filter((label) => !OF_ROLES.includes(label)));
});

test('while the roles are not known nobody has one', () => {
    const known = pagesFor(() => true, 'A', undefined).map(({ label }) => label);
    expect(known.filter((label) => OF_ROLES.includes(label))).toEqual([]);
});

test('a page that does not exist has no link, and a group without pages no button', () => {
    expect(labels('A', (to) => to !== '/keys')).not.toContain('Keys');
    const entries = entriesOf(links(null, (to) => to === '/keys'));
    expect(entries.map((entry) => 'pages' in entry && entry.group)).toEqual(['buy']);
});

test('groups come first, in the order of the pages, and pages of roles after them', () => {
    const names = entriesOf(links('R')).map((entry) => ('pages' in entry ? entry.group : entry.label));
    expect(names).toEqual(['market', 'buy', 'sell', 'Resolve']);
});

test.each([
    ['/', {}, 'Agents'],
    ['/agents/abc/run', {}, 'Agents'],
    ['/executions/1', {}, 'Executions'],
    ['/creator', {}, 'My agents'],
    ['/creator/agents/abc', {}, 'My agents'],
    ['/creator/new', {}, 'List an agent'],
    ['/disputes', { role: 'creator' }, 'Disputes'],
    ['/disputes', { role: 'resolver' }, 'Resolve'],
    ['/keysandmore', {}, undefined],
])('at %s with %j the page is %s', (pathname, search, label) => {
    expect(currentOf(links('R'), pathname, search)?.label).toBe(label);
});
