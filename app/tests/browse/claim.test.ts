// What index.html shows before the dashboard has loaded, and for whom.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runInNewContext } from 'node:vm';

import { expect, test } from 'vitest';

import { words } from '../../src/features/browse/words';

const app = path.resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(app, file), 'utf8');

test('the claim that is shown first is the claim of the home page', () => {
    const [, claim = ''] = /<p class="claim">(.*?)<\/p>/s.exec(read('index.html')) ?? [];
    const { claim: sentence, promise } = words.home;
    expect(claim.replaceAll(/\s+/g, ' ').trim()).toBe(`${sentence} <span>${promise}</span>`);
});

/** What `first.js` sets on the root element at this address of a browser that keeps this. */
function firstOf(address: string, kept: Record<string, string>): Record<string, string> {
    const dataset: Record<string, string> = {};
    runInNewContext(read('public/first.js'), {
        document: { documentElement: { dataset } },
        location: new URL(address, 'https://market.example'),
        localStorage: { getItem: (key: string) => kept[key] ?? null },
    });
    return dataset;
}

test('the claim is shown first to whom the home part is shown next', () => {
    expect(firstOf('/', {})).toEqual({ first: 'claim' });
    expect(firstOf('/', { 'crtx.theme': 'dark' })).toEqual({ first: 'claim', theme: 'dark' });
    expect(firstOf('/', { 'crtx.wallet': '["Wallet","address"]', 'crtx.theme': 'blue' })).toEqual({});
    for (const address of ['/agents', '/?q=text', '/docs']) expect(firstOf(address, {}), address).toEqual({});
});
