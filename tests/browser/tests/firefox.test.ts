// What must also hold in Firefox: a proof is for everybody, so it verifies in more than one browser.

import type { Browser, Page } from 'puppeteer-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { builtFiles } from '../support/built';
import { FIREFOX, startFirefox } from '../support/firefox';
import { ownNetwork } from '../support/ownNetwork';
import { type Proved, prove } from '../support/proofs';

const WHY = FIREFOX === undefined ? ' (left out: install firefox-esr, or name its program in CRTX_FIREFOX)' : '';

let browser: Browser | undefined;
let proved: Proved;

beforeAll(async () => {
    if (FIREFOX === undefined) return;
    [browser, proved] = await Promise.all([startFirefox(), prove(ownNetwork(), 'The quick brown fox.')]);
});
afterAll(() => browser?.close());

/** The text of the page once it has a verdict. */
async function verdictOf(page: Page, path: string): Promise<string> {
    await page.goto(new URL(path, ownNetwork().base_url).href);
    const handle = await page.waitForFunction(() => {
        const text = document.querySelector('main')?.innerText ?? '';
        return /verified/i.test(text) ? text : null;
    });
    return (await handle.jsonValue()) ?? '';
}

test.skipIf(FIREFOX === undefined)(`a proof verifies in Firefox with the API unreachable, and altered content fails${WHY}`, async () => {
    const page = await (browser as Browser).newPage();
    const { base_url: baseUrl, rpc_url: rpcUrl } = ownNetwork();
    const folder = process.env['CRTX_PAGES'];
    const fileAt = folder === undefined ? () => null : await builtFiles(baseUrl, folder);
    let content: string | null = null;
    await page.setRequestInterception(true);
    page.on('request', (request) => {
        const { origin, pathname } = new URL(request.url());
        const file = origin === new URL(baseUrl).origin ? fileAt(pathname) : null;
        if (file !== null) return void request.respond(file);
        if (pathname.startsWith('/v1/')) return void request.abort();
        if (content !== null && pathname.startsWith('/ipfs/')) return void request.respond({ body: content });
        return void request.continue();
    });
    await page.goto(baseUrl);
    await page.evaluate((rpcUrl) => localStorage.setItem('crtx.network', JSON.stringify({ network: 'local', rpcUrl })), rpcUrl);
    const good = await verdictOf(page, `/proof/${proved.record}`);
    expect(good).toContain('The creator signed this result, and 0.01 USDC was paid for it.');
    expect(good.match(/\bholds\b/g)).toHaveLength(4);
    content = 'else';
    const bad = await verdictOf(page, `/proof/${proved.record}?again`);
    expect(bad).toContain('NOT verified');
    expect(bad).toMatch(/Content\s+FAILS/);
});
