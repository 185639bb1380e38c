// Which pages the header links to.

import { expect, test } from 'vitest';

import { PAGES, pagesFor } from '../src/app/navigation';

const roles = { admin: 'A', pending_admin: 'N', guardian: 'G', resolver: 'R' } as never;
const labels = (wallet: string | null, exists = (_: string) => true): string[] =>
    pagesFor(exists, wallet, roles).map(({ label }) => label);

test.each([['A'], ['N'], ['G']])('the wallet %s has a use for the admin’s page', (wallet) => {
    expect(labels(wallet)).toContain('Admin');
});

test.each([['R'], ['x'], [null]])('the wallet %s sees every page but the admin’s', (wallet) => {
    expect(labels(wallet)).toEqual(PAGES.map(({ label }) => label).filter((label) => label !== 'Admin'));
});

test('while the roles are not known nobody is the admin', () => {
    expect(pagesFor(() => true, 'A', undefined).map(({ label }) => label)).not.toContain('Admin');
});

test('a page that does not exist has no link', () => {
    expect(labels('A', (to) => to !== '/keys')).not.toContain('Keys');
});
