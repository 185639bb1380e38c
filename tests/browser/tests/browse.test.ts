// Finding an agent: search, order and filters in the URL, the endless list, the way to an agent and back.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { ownNetwork } from '../support/ownNetwork';

const open = useBrowser();
const { agents } = ownNetwork();
/** Waits until the URL has exactly these pairs. */
const searchIs = (page: Page, pairs: Record<string, string>): Promise<void> =>
    page.waitForURL(({ searchParams }) => {
        const found = [...searchParams].sort().join('&');
        return found === Object.entries(pairs).sort().join('&');
    });

const [first, second] = [agents[0]?.name ?? '', agents[1]?.name ?? ''];

test('the list follows what is typed, and the URL too', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await page.getByRole('link', { name: second }).waitFor();
    const order = page.getByLabel('Order', { exact: true });
    expect(await order.inputValue()).toBe('trust');
    await page.getByText('Trust is the sum of the fees').waitFor();
    await page.getByRole('searchbox', { name: 'Search agents' }).pressSequentially('text sta');
    await page.getByText('1 agent matches').waitFor();
    expect(await order.inputValue()).toBe('relevance');
    await page.getByRole('link', { name: second }).waitFor({ state: 'detached' });
    await searchIs(page, { q: 'text sta' });
    await page.reload();
    await page.getByText('1 agent matches').waitFor();
    expect(await page.getByRole('searchbox', { name: 'Search agents' }).inputValue()).toBe('text sta');
    expect(problems).toEqual([]);
    await context.close();
});

test('every filter and order is in the URL, and the back button undoes the last one', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await page.getByLabel('Order', { exact: true }).selectOption('Lowest price');
    await searchIs(page, { sort: 'price_asc' });
    await page.getByRole('button', { name: 'writing' }).click();
    await searchIs(page, { sort: 'price_asc', tags: 'writing' });
    await page.getByText(/ match(es)?$/).waitFor();
    await page.getByRole('link', { name: second }).waitFor({ state: 'detached' });
    await page.getByLabel('Highest price (USDC)').fill('0.005');
    await page.keyboard.press('Enter');
    await page.getByText('No agent matches').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: first }).waitFor();
    expect(await page.getByLabel('Highest price (USDC)').inputValue()).toBe('');
    await page.getByLabel('Verified creators only').check();
    await page.getByLabel('Success rate').selectOption('At least 90%');
    await page.getByRole('combobox', { name: 'Executions', exact: true }).selectOption('At least 10');
    await searchIs(page, {
        sort: 'price_asc',
        tags: 'writing',
        verified_only: 'true',
        min_success_rate: '0.9',
        min_executions: '10',
    });
    await page.getByRole('button', { name: 'Clear all filters' }).click();
    await searchIs(page, { sort: 'price_asc' });
    await page.getByRole('link', { name: second }).waitFor();
    // Other tests list agents, too.
    const names = await page.locator('li h2').allTextContents();
    expect(names.filter((name) => name === first || name === second)).toEqual([first, second]);
    expect(problems).toEqual([]);
    await context.close();
});

test('a price that is none is explained and not searched', async () => {
    const { page, context } = await open();
    await page.goto('/');
    await page.getByLabel('Highest price (USDC)').fill('1,5');
    await page.keyboard.press('Enter');
    await page.getByText('Write an amount such as 0.25').waitFor();
    expect(new URL(page.url()).search).toBe('');
    await context.close();
});

test('the list goes on by cursor until its end', async () => {
    const { page, context, problems } = await open();
    // Three pages out of one: the demo has two agents.
    await page.route(/\/v1\/agents\?/, async (route) => {
        const url = new URL(route.request().url());
        const number = Number(url.searchParams.get('cursor') ?? '0');
        url.searchParams.delete('cursor');
        const answer = await route.fetch({ url: url.href });
        const body = (await answer.json()) as { agents: { agent_id: string; name: string }[] };
        const demo = body.agents.filter(({ name }) => name === first || name === second);
        const renamed = demo.map((agent) => ({ ...agent, agent_id: `${agent.agent_id}${number}`, name: `${agent.name} ${number}` }));
        await route.fulfill({ response: answer, json: { ...body, agents: renamed, total: 6, next_cursor: number < 2 ? String(number + 1) : null } });
    });
    await page.goto('/');
    await page.getByText('That is all: 6 agents.').waitFor();
    expect(await page.locator('li h2').count()).toBe(6);
    expect(problems).toEqual([]);
    await context.close();
});

test('a card leads to its agent by keyboard, the title is announced, and back leads to the same list', async () => {
    const { page, context, problems } = await open();
    await page.goto('/?sort=price_asc');
    await page.getByRole('link', { name: first }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: first }).waitFor();
    expect(await page.title()).toBe(`${first} · crtx`);
    await page.getByRole('status').getByText(`${first} · crtx`).waitFor({ state: 'attached' });
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    await page.goBack();
    await searchIs(page, { sort: 'price_asc' });
    expect(problems).toEqual([]);
    await context.close();
});

test('without a connection the page says so and tries again', async () => {
    const { page, context } = await open();
    await page.route(/\/v1\/agents\?/, (route) => route.abort());
    await page.goto('/');
    await page.getByText('No connection to the service').waitFor();
    await page.unroute(/\/v1\/agents\?/);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: first }).waitFor();
    await context.close();
});

test('the skip link is the first stop and leads to the content', async () => {
    const { page, context } = await open();
    await page.goto('/');
    await page.getByRole('link', { name: first }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    await context.close();
});

test('the theme is chosen, kept, and applied before the first paint', async () => {
    const { page, context } = await open({ scheme: 'light' });
    await page.goto('/');
    await page.getByRole('button', { name: /^Theme: as the system/ }).click();
    await page.getByRole('button', { name: /^Theme: light/ }).click();
    await page.reload();
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark');
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    expect(background).toBe('rgb(11, 13, 18)');
    await context.close();
});
