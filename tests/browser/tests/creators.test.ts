// The public page of a creator, for somebody without a wallet.

import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { accessibilityProblems, layoutProblems } from '../support/checks';
import { picture } from '../support/gallery';
import { HOSTILE, harm } from '../support/hostile';
import { ownNetwork } from '../support/ownNetwork';

const open = useBrowser();
const { agents, base_url: origin } = ownNetwork();
const [first = { agent_id: '', name: '' }, second = { agent_id: '', name: '' }] = agents;

/** How many of the hostile agents the list has; the others are paused. */
const LISTED = 4;

type Answer = { agents?: object[]; creator?: object };

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
    const named = (agent: object | undefined, status: string) => texts.map((name, number) => ({ ...agent, agent_id: `a${number}`, name, status }));
    const answerAs = (path: RegExp, change: (body: Answer) => object) =>
        page.route(path, async (route) => {
            const answer = await route.fetch();
            await route.fulfill({ response: answer, json: change((await answer.json()) as Answer) });
        });
    await answerAs(/\/v1\/agents\?/, ({ agents, ...rest }) => ({ ...rest, agents: named(agents?.[0], 'active').slice(0, LISTED), total: LISTED }));
    await answerAs(/\/v1\/wallets\/[^/]+$/, ({ agents, ...rest }) => ({
        ...rest,
        creator: { display_name: HOSTILE.direction, verified: false },
        agents: named(agents?.[0], 'paused'),
        agents_total: texts.length,
    }));
    const { creator, ...agent } = (await (await fetch(`${origin}/v1/agents/${first.agent_id}`)).json()) as Answer;
    await page.route(/\/v1\/agents\/a0$/, (route) => route.fulfill({ json: { ...agent, creator: { ...creator, resembles_verified: true } } }));
    await page.goto(`/creators/${wallet}`);
    const table = page.getByRole('table', { name: 'Agents of this creator' });
    await table.getByText('Paused').first().waitFor();
    await page.getByText('This name looks like that of a verified creator').waitFor();
    expect(await table.getByRole('row').count()).toBe(texts.length + 1);
    expect(await table.getByText('Paused').count()).toBe(texts.length - LISTED);
    const heading = page.getByRole('heading', { level: 1 });
    expect(await heading.textContent()).toContain('U+202E');
    expect(await heading.textContent()).not.toContain('\u202e');
    expect(await page.title()).not.toContain('\u202e');
    const heights = await table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.clientHeight));
    expect(Math.max(...heights)).toBeLessThan(140);
    expect(await harm(page)).toEqual([]);
    expect(await layoutProblems(page)).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, 'hostile-public-creator');
    expect(problems).toEqual([]);
    await context.close();
});
