// The public proof of an execution: for anybody, without a wallet and without the API.

import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { accessibilityProblems } from '../support/checks';
import { harm } from '../support/hostile';
import { ownNetwork } from '../support/ownNetwork';
import { type Proved, lieAbout, prove, withoutApi } from '../support/proofs';
import { call, connect } from '../support/runs';

const open = useBrowser();
let proved: Proved;

beforeAll(async () => {
    proved = await prove(ownNetwork(), 'The quick brown fox jumps over the lazy dog.');
});

const verdict = (page: Page) => page.getByRole('main').getByRole('status').filter({ hasText: /verified/i });
const group = (page: Page, name: string) => page.getByRole('region', { name });
const GROUPS = ['Content', 'Signature', 'Chain', 'Money'];

/** The groups that fail, once there is a verdict. */
async function failing(page: Page): Promise<string[]> {
    await verdict(page).waitFor();
    const failed = await page.getByRole('heading', { level: 2, name: /FAILS$/ }).allInnerTexts();
    return GROUPS.filter((name) => failed.some((text) => text.includes(name)));
}

/** A visitor who has seen this address before, with the API unreachable from now on. */
async function visit() {
    const { page, context } = await open();
    const { rpc_url: rpcUrl } = ownNetwork();
    await page.addInitScript((rpcUrl) => localStorage.setItem('crtx.network', JSON.stringify({ network: 'local', rpcUrl })), rpcUrl);
    await withoutApi(page);
    return { page, context };
}

test('a proof verifies with the API unreachable: one sentence, four groups, sixteen checks', async () => {
    const { page, context } = await visit();
    await page.goto(`/proof/${proved.record}`);
    await verdict(page).getByText('Verified', { exact: true }).waitFor();
    expect(await verdict(page).innerText()).toContain('The creator signed this result, and 0.01 USDC was paid for it.');
    for (const name of GROUPS) await group(page, name).getByText('holds', { exact: true }).waitFor();
    expect(await page.getByRole('heading', { level: 3, name: /passed$/, includeHidden: true }).count()).toBe(16);
    const asked = page.getByRole('region', { name: 'Node that was asked' });
    expect(await asked.innerText()).toMatch(new RegExp(`${ownNetwork().rpc_url}.*This site names it.*may have no value`, 's'));
    // The result is the one that was delivered; the checks open by keyboard.
    await page.getByRole('region', { name: 'Result' }).getByText('words').first().waitFor();
    await group(page, 'Money').getByText('3 checks').focus();
    await page.keyboard.press('Enter');
    await page.getByText('The money moved as recorded').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await context.close();
});

test('a node that only the link names is not asked before the reader says so, and the verdict names the trust', async () => {
    const { page, context } = await open();
    await withoutApi(page);
    const { rpc_url: rpcUrl } = ownNetwork();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).origin));
    await page.goto(`/proof/${proved.record}?node=${encodeURIComponent(rpcUrl)}`);
    await page.getByText('The link names a node that this page does not know').waitFor();
    await page.getByRole('heading', { name: 'Choose a Solana node' }).waitFor();
    expect(asked).not.toContain(new URL(rpcUrl).origin);
    await page.getByRole('button', { name: 'Ask the node of the link' }).click();
    await verdict(page).getByText('Verified, if you trust the node of the link').waitFor();
    expect(asked).toContain(new URL(rpcUrl).origin);
    // A node that the reader types is the reader's own choice. What is no address of a node is refused.
    await page.goto(`/proof/${proved.record}?node=javascript:alert(1)`);
    await page.getByLabel('Address of a node').fill('http://node.example');
    await page.getByRole('button', { name: 'Ask this node' }).click();
    await page.getByText('Write an address that begins with https://').waitFor();
    expect(await page.getByText('The link names a node').count()).toBe(0);
    await page.getByLabel('Address of a node').fill(rpcUrl);
    await page.getByRole('button', { name: 'Ask this node' }).click();
    await verdict(page).getByText('Verified', { exact: true }).waitFor();
    await page.getByText('You typed it.').waitFor();
    await context.close();
});

test('altered content fails the content alone and is not shown; content that is gone comes from a file', async () => {
    const { page, context } = await visit();
    const evil = '<img src=x onerror="window.pwned=1"> not what was signed';
    await page.route('**/ipfs/**', (route) => route.fulfill({ body: evil }));
    await page.goto(`/proof/${proved.record}`);
    expect(await failing(page)).toEqual(['Content']);
    await verdict(page).getByText('NOT verified').waitFor();
    expect(await page.getByRole('region', { name: 'Result' }).count()).toBe(0);
    expect(await harm(page)).toEqual([]);

    await page.unroute('**/ipfs/**');
    await page.route('**/ipfs/**', (route) => route.fulfill({ status: 404 }));
    await page.reload();
    await verdict(page).getByText('Verified, except the content').waitFor();
    await group(page, 'Content').getByText('not checked').first().waitFor();
    const choose = (text: string) =>
        page.getByLabel('A file with the result').setInputFiles({ name: 'result.json', mimeType: 'text/plain', buffer: Buffer.from(text) });
    await choose(proved.result);
    await verdict(page).getByText('Verified', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Result' }).waitFor();
    await context.close();
});

test('a node that shows another record fails the groups that the lie is about', async () => {
    const { page, context } = await visit();
    const network = ownNetwork();
    const lies = [
        [{ amount: 20_000n }, ['Money']],
        [{ executionId: new Uint8Array(16) }, ['Chain']],
        [{ resultHash: new Uint8Array(32).fill(7) }, ['Content', 'Signature', 'Chain']],
    ] as const;
    for (const [lie, groups] of lies) {
        await lieAbout(page, network, proved.record, lie);
        await page.goto(`/proof/${proved.record}`);
        expect(await failing(page), JSON.stringify(Object.keys(lie))).toEqual(groups);
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await withoutApi(page);
    }
    await context.close();
});

test('a refund, an unknown record and a silent node each say what they are', async () => {
    const { page, context } = await visit();
    const refunded = await prove(ownNetwork(), 'fail', 'fail');
    await page.goto(`/proof/${refunded.record}`);
    await verdict(page).getByText('There is no result, and 0.02 USDC went back to the caller.').waitFor();
    await group(page, 'Content').getByText('nothing to check').waitFor();
    await page.goto('/proof/SysvarC1ock11111111111111111111111111111111');
    await page.getByText('This node knows no such record').waitFor();
    await page.route(
        (url) => url.origin === new URL(ownNetwork().rpc_url).origin,
        (route) => route.abort(),
    );
    await page.goto(`/proof/${proved.record}`);
    await page.getByText('The node does not answer').waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(1);
    await context.close();
});

test('the page of an execution copies a link that verifies', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connect(page);
    await call(page, ownNetwork());
    await page.getByRole('button', { name: 'Copy proof link' }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    expect(new URL(link).pathname).toMatch(/^\/proof\/[1-9A-HJ-NP-Za-km-z]{32,44}$/);
    await page.goto(link);
    await verdict(page).getByText('Verified', { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});
