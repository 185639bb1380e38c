// The public page of a creator, for somebody without a wallet.

import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { accessibilityProblems, layoutProblems } from '../support/checks';
import { HOSTILE, harm } from '../support/hostile';
import { ownNetwork } from '../support/ownNetwork';

const open = useBrowser();
const { agents, base_url: origin } = ownNetwork();
const [first = { agent_id: '', name: '' }, second = { agent_id: '', name: '' }] = agents;

const creatorOf = async (agentId: string): Promise<string> => {
    const answer = await fetch(`${origin}/v1/agents/${agentId}`);
    return ((await answer.json()) as { creator: { pubkey: string } }).creator.pubkey;
};

test('by keyboard alone an agent leads to its creator, whose page shows the record and leads to each agent', async () => {
    const { page, context, problems } = await open();
    const wallet = await creatorOf(first.agent_id);
    await page.goto(`/agents/${first.agent_id}`);
    await page.getByRole('link', { name: 'Record and agents of this creator' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/creators/${wallet}`);
    await page.getByRole('heading', { level: 1, name: 'crtx demo creator' }).waitFor();
    expect(await page.title()).toBe('crtx demo creator · crtx');
    await page.getByText('The marketplace has not checked who this is').waitFor();
    const record = page.getByRole('region', { name: 'Record' });
    await record.getByText(/^\d{4}-\d\d-\d\d/).waitFor();
    expect(await record.innerText()).toMatch(/Collateral locked\s+\d+(\.\d+)? USDC/);
    const table = page.getByRole('table', { name: 'Agents of this creator' });
    await table.getByRole('link', { name: first.name }).waitFor();
    await table.getByRole('link', { name: second.name }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: second.name }).waitFor();

    await page.goto('/');
    await page.locator('li:has(h2 a)').filter({ hasText: first.name }).getByTitle(wallet).click();
    await page.waitForURL(`**/creators/${wallet}`);
    await page.goto('/creators/no-address');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await page.goto('/creators/11111111111111111111111111111111');
    await page.getByText('This wallet has no agents').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('hostile names are lines of text, paused agents are named, and a copied name is warned about, on a phone', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    const texts = Object.values(HOSTILE);
    const wallet = await creatorOf(first.agent_id);
    await page.route(/\/v1\/(agents\?|agents\/|wallets\/[^/]+$)/, async (route) => {
        const answer = await route.fetch();
        const body = (await answer.json()) as { agents?: object[]; creator?: object };
        const agents = body.agents && texts.map((name, number) => ({ ...body.agents?.[0], agent_id: `a${number}`, name }));
        const creator = { ...body.creator, display_name: HOSTILE.direction, resembles_verified: true };
        if (route.request().url().includes('/v1/agents?')) {
            await route.fulfill({ response: answer, json: { ...body, agents: agents?.slice(0, 4), total: 4 } });
            return;
        }
        const agent = await (await fetch(`${origin}/v1/agents/${first.agent_id}`)).json() as object;
        const paused = agents?.map((agent) => ({ ...agent, status: 'paused' }));
        await route.fulfill({ json: agents ? { ...body, creator, agents: paused, agents_total: texts.length } : { ...agent, creator: { ...(agent as { creator: object }).creator, ...creator } } });
    });
    await page.goto(`/creators/${wallet}`);
    const table = page.getByRole('table', { name: 'Agents of this creator' });
    await table.getByText('Paused').first().waitFor();
    await page.getByText('This name looks like that of a verified creator').waitFor();
    expect(await table.getByRole('row').count()).toBe(texts.length + 1);
    expect(await table.getByText('Paused').count()).toBe(texts.length - 4);
    const heading = page.getByRole('heading', { level: 1 });
    expect(await heading.textContent()).toContain('U+202E');
    expect(await heading.textContent()).not.toContain('\u202e');
    expect(await page.title()).not.toContain('\u202e');
    const heights = await table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.clientHeight));
    expect(Math.max(...heights)).toBeLessThan(140);
    expect(await harm(page)).toEqual([]);
    expect(await layoutProblems(page)).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});
