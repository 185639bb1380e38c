// The page of the network, compared with what service and chain say themselves; and the header's navigation.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { rpc } from '../support/chain';
import { HOSTILE, harm } from '../support/hostile';
import { ownNetwork } from '../support/ownNetwork';
import { actAs, follow } from '../support/runs';

const open = useBrowser();
const network = ownNetwork();

type Status = { indexed_slot: number; processes: object[] };
const statusOf = async (): Promise<Status> => (await (await fetch(`${network.base_url}/v1/status`)).json()) as Status;

test('the page shows the state of the index, and the slot that the node itself says', async () => {
    const { page, context, problems } = await open();
    await page.goto('/network');
    await page.getByRole('status').getByText('The index follows the chain, and nothing is wrong.').waitFor();
    const digits = (text: string): number => Number(text.replace(/\D/g, ''));
    const figure = (name: string) => page.locator('dl > div').filter({ has: page.getByText(name, { exact: true }) }).locator('dd');
    await figure('Slot of the chain, read here').getByText(/^\d/).waitFor();
    const shown = digits(await figure('Slot of the chain, read here').innerText());
    const slot = await rpc<number>('getSlot', [{ commitment: 'confirmed' }]);
    expect(shown).toBeGreaterThan(0);
    expect(shown).toBeLessThanOrEqual(slot);
    expect(digits(await figure('Slot of the index').innerText())).toBeLessThanOrEqual((await statusOf()).indexed_slot);
    await page.getByText(`crtx audit --rpc-url ${network.rpc_url} --url ${network.base_url}`).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('the browser computes the hash of the deployed code, which is the committed one', async () => {
    const { page, context, problems } = await open();
    const received: number[] = [];
    page.on('response', async (response) => received.push((await response.body().catch(() => Buffer.alloc(0))).length));
    await page.goto('/network');
    const check = page.getByRole('button', { name: 'Check the program in this browser' });
    await check.waitFor();
    // The code is half a megabyte, and comes when somebody asks for it.
    expect(Math.max(...received)).toBeLessThan(500_000);
    await check.click();
    await page.getByText('The published code').waitFor();
    const { value: program } = await rpc<{ value: { data: { parsed: { info: { programData: string } } } } }>('getAccountInfo', [network.program_id, { encoding: 'jsonParsed' }]);
    const { value } = await rpc<{ value: { data: [string] } }>('getAccountInfo', [program.data.parsed.info.programData, { encoding: 'base64' }]);
    const code = Buffer.from(value.data[0], 'base64').subarray(45);
    const hash = createHash('sha256').update(code.subarray(0, code.findLastIndex((byte) => byte !== 0) + 1)).digest('hex');
    await page.getByText(hash, { exact: true }).waitFor();
    const artifact = path.resolve(import.meta.dirname, '../../../programs/agent-marketplace/artifacts/agent_marketplace.json');
    const { sha256 } = JSON.parse(readFileSync(artifact, 'utf8')) as { sha256: string };
    await page.getByText(sha256, { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('code of which one byte is another is not called the published one', async () => {
    const { page, context, problems } = await open();
    await page.route(network.rpc_url, async (route) => {
        const answer = await route.fetch();
        const body = (await answer.text()).replace(/[A-Za-z0-9+/=]{500000,}/, (data) => {
            const bytes = Buffer.from(data, 'base64');
            bytes[5_000] = (bytes[5_000] ?? 0) ^ 1;
            return bytes.toString('base64');
        });
        await route.fulfill({ response: answer, body });
    });
    await page.goto('/network');
    await page.getByRole('button', { name: 'Check the program in this browser' }).click();
    await page.getByText('Other code').waitFor();
    expect(await page.getByText('The published code').count()).toBe(0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    expect(problems).toEqual([]);
    await context.close();
});

test('what is wrong with the index is said in words', async () => {
    const { page, context, problems } = await open();
    const status = { ...(await statusOf()), status: 'stale', problems: [{ code: 'no_events', message: 'The node sends no events <b>since</b> 02:00.' }] };
    await page.route('**/v1/status', (route) => route.fulfill({ json: status }));
    await page.goto('/network');
    await page.getByText('The index receives no changes at the moment').waitFor();
    await page.getByText('The node sends no events <b>since</b> 02:00.').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    expect(problems).toEqual([]);
    await context.close();
});

test('without the node the page shows what the service says, and tells so', async () => {
    const { page, context } = await open();
    await page.route(network.rpc_url, (route) => route.abort());
    await page.goto('/network');
    await page.getByText('The Solana node does not answer, so this is what the service says.').waitFor();
    await page.getByText('As the service says it.').waitFor();
    await page.getByText('1 %', { exact: true }).waitFor();
    await page.unroute(network.rpc_url);
    await page.getByRole('region', { name: 'Rules' }).getByRole('button', { name: 'Try again' }).click();
    await page.getByText('This page reads it from the chain.').waitFor();
    await context.close();
});

test('on a phone the pages are behind a menu that the keyboard opens and closes', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.goto('/');
    const navigation = page.getByRole('navigation', { name: 'Pages' });
    const menu = navigation.getByRole('button', { name: 'Menu' });
    expect(await navigation.getByRole('link').count()).toBe(0);
    await menu.focus();
    await page.keyboard.press('Enter');
    expect(await menu.getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('Tab');
    expect(await navigation.getByRole('link', { name: 'Agents', exact: true }).evaluate((link) => link === document.activeElement)).toBe(true);
    expect(await navigation.getByRole('link', { name: 'Agents', exact: true }).getAttribute('aria-current')).toBe('page');
    await page.keyboard.press('Escape');
    expect(await menu.evaluate((button) => button === document.activeElement)).toBe(true);
    expect(await navigation.getByRole('link').count()).toBe(0);

    await page.keyboard.press('Enter');
    await navigation.getByRole('link', { name: 'Network' }).press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Network' }).waitFor();
    expect(await menu.getAttribute('aria-expanded')).toBe('false');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    expect(problems).toEqual([]);
    await context.close();
});

test('on a wide screen the pages are in groups of a row of 56 pixels, for pointer and keyboard, and the present one is marked', async () => {
    const { page, context, problems } = await open();
    await page.goto('/network');
    const navigation = page.getByRole('navigation', { name: 'Pages' });
    const group = (name: string) => navigation.getByRole('button', { name, exact: true });
    const isFocused = (element: Element): boolean => element === document.activeElement;
    await page.getByRole('heading', { level: 1, name: 'Network' }).waitFor();
    expect((await page.getByRole('banner').boundingBox())?.height).toBe(56);
    expect(await navigation.getByRole('button').allInnerTexts()).toEqual(['Market', 'Buy', 'Sell']);
    expect(await navigation.locator('[data-current=true]').allInnerTexts()).toContain('Market');
    await group('Market').click();
    expect(await navigation.getByRole('link').count()).toBe(3);
    expect(await navigation.locator('[aria-current=page]').evaluateAll((links) => links.map((link) => link.textContent))).toEqual(['Network']);
    // One is open at a time; Escape closes it and gives the focus back.
    await group('Sell').focus();
    await page.keyboard.press('Enter');
    expect([await group('Market').getAttribute('aria-expanded'), await group('Sell').getAttribute('aria-expanded')]).toEqual(['false', 'true']);
    await page.keyboard.press('Tab');
    expect(await navigation.getByRole('link', { name: 'My agents', exact: true }).evaluate(isFocused)).toBe(true);
    await page.keyboard.press('Escape');
    expect(await group('Sell').evaluate(isFocused)).toBe(true);
    expect(await navigation.getByRole('link').count()).toBe(0);
    await follow(page, 'Agents');
    await page.getByRole('link', { name: network.agents[0]?.name ?? '' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    await group('Market').click();
    expect(await navigation.locator('[aria-current=page]').evaluateAll((links) => links.map((link) => link.textContent))).toEqual(['Agents']);
    expect(problems).toEqual([]);
    await context.close();
});

test.each(Object.entries(HOSTILE))('a text of a node or an agent with %s changes nothing but its own place', async (_, text) => {
    const { page, context, problems } = await open({ width: 'phone' });
    const status = await statusOf();
    const audit = { ok: false, at: text, source: text, witness: text, checks: { [text]: { compared: text, faults: 1 } }, faults: [{ place: text, message: text }] };
    const processes = status.processes.map((process) => ({ ...process, source: text, problems: [{ code: 'x', message: text }] }));
    await page.route('**/v1/status', (route) => route.fulfill({ json: { ...status, processes, problems: [{ code: 'x', message: text }], last_audit: audit } }));
    await page.goto('/network');
    await page.getByRole('button', { name: 'Check the program in this browser' }).waitFor();
    expect(await harm(page)).toEqual([]);

    await page.route(/\/v1\/agents\?/, async (route) => {
        const answer = await route.fetch();
        const { agents, ...rest } = (await answer.json()) as { agents: object[] };
        await route.fulfill({ response: answer, json: { ...rest, agents: agents.map((agent) => ({ ...agent, name: text })) } });
    });
    await page.goto('/admin');
    await actAs(page, 'Admin');
    await page.getByRole('link', { name: /^Who is this/ }).first().waitFor();
    expect(await harm(page)).toEqual([]);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    expect(problems).toEqual([]);
    await context.close();
});
