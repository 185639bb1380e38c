// What a visitor sees first: what this is, how a call works, what it costs, and two ways on; and that it folds away.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { HOSTILE, harm } from '../support/hostile';
import { layoutProblems } from '../support/checks';
import { ownNetwork } from '../support/ownNetwork';
import { connect, follow } from '../support/runs';

const open = useBrowser();
const network = ownNetwork();

const STEPS = ['You lock the price of one call', 'The agent signs its result', 'Signed result, or your money back'];
const claim = (page: Page) =>
    page.getByRole('heading', { level: 1, name: 'Buy work from AI agents per call. You pay only for a signed result; otherwise the money comes back.' });

/** What the first screen must contain, each by its name. */
const parts = (page: Page) => ({
    sentence: claim(page),
    ...Object.fromEntries(STEPS.map((step) => [step, page.getByRole('list', { name: 'How a call works' }).getByRole('listitem').filter({ hasText: step })])),
    price: page.getByText(/^[\d.]+ USDC per call$/),
    run: page.getByRole('link', { name: 'Run an agent', exact: true }),
    list: page.getByRole('link', { name: 'List yours', exact: true }),
});

test.each([
    ['a wide window', 1440, 900],
    ['a phone', 390, 844],
])('in %s the sentence is shown before the scripts arrive, at the place where it stays, and on no other page', async (_, width, height) => {
    const { page, context, problems } = await open();
    await page.setViewportSize({ width, height });
    const held: (() => void)[] = [];
    await page.route(/\/assets\/.*\.js$/, async (route) => {
        await new Promise<void>((resolve) => void held.push(resolve));
        await route.fallback();
    });
    const early = page.locator('p.claim');
    await page.goto('/docs', { waitUntil: 'commit' });
    await early.waitFor({ state: 'attached' });
    expect(await early.isVisible()).toBe(false);
    await page.goto('/', { waitUntil: 'commit' });
    const first = await early.boundingBox();
    held.forEach((release) => release());
    await parts(page).price.waitFor();
    expect(await early.count()).toBe(0);
    const last = await claim(page).boundingBox();
    if (first === null || last === null) throw new Error('The sentence is not shown.');
    expect([first.x, first.width, first.height]).toEqual([last.x, last.width, last.height]);
    expect(Math.abs(first.y - last.y)).toBeLessThan(height / 20);
    expect(problems).toEqual([]);
    await context.close();
});

test.each([
    ['a wide window', 1440, 900],
    ['a phone', 390, 844],
])('in %s the sentence, three steps, a price and both actions are in sight without scrolling', async (_, width, height) => {
    const { page, context, problems } = await open();
    await page.setViewportSize({ width, height });
    const shifts: number[] = [];
    await page.exposeFunction('shifted', (value: number) => void shifts.push(value));
    await page.addInitScript(() => {
        const tell = (window as unknown as { shifted: (value: number) => void }).shifted;
        new PerformanceObserver((list) => {
            for (const entry of list.getEntries() as (PerformanceEntry & { value: number })[]) tell(entry.value);
        }).observe({ type: 'layout-shift', buffered: true });
    });
    await page.goto('/');
    for (const [name, part] of Object.entries(parts(page))) {
        const box = await part.boundingBox();
        if (box === null) throw new Error(`${name} is not shown`);
        expect(box.y, name).toBeGreaterThanOrEqual(0);
        expect(box.y + box.height, name).toBeLessThanOrEqual(height);
        expect(box.x, name).toBeGreaterThanOrEqual(0);
        expect(box.x + box.width, name).toBeLessThanOrEqual(width);
    }
    expect(await layoutProblems(page)).toEqual([]);
    await page.waitForLoadState('networkidle');
    expect(await page.evaluate(() => [...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family))).toEqual(['Inter']);
    expect(shifts.reduce((sum, value) => sum + value, 0)).toBeLessThanOrEqual(0.02);
    // The price is the one of a real agent, and the action leads to that agent.
    const price = parseFloat((await parts(page).price.textContent()) ?? '');
    await parts(page).run.click();
    await page.waitForURL(/\/agents\//);
    const shown = (await (await fetch(`${network.base_url}/v1/agents/${new URL(page.url()).pathname.split('/')[2]}`)).json()) as { price_per_call_usdc: number };
    expect(shown.price_per_call_usdc).toBe(price);
    expect(problems).toEqual([]);
    await context.close();
});

test('the home part shows what the service says, leaves searches alone, and folds away with a wallet for good', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    const figures = page.locator('dl[aria-label="The market now"]');
    const { counts } = (await (await fetch(`${network.base_url}/v1/status`)).json()) as { counts: { agents: number } };
    await figures.getByText(String(counts.agents), { exact: true }).first().waitFor();
    await figures.getByText(/USDC$/).waitFor();
    await page.getByRole('searchbox', { name: 'Search agents' }).fill('text');
    await page.waitForURL(/q=text/);
    expect(await claim(page).count()).toBe(0);
    await page.goto('/');
    await claim(page).waitFor();
    await connect(page);
    await page.getByRole('heading', { level: 1, name: 'Agents', exact: true }).waitFor();
    expect(await claim(page).count()).toBe(0);
    // A reload does not show it while the wallet connects again.
    let wasShown = false;
    await page.exposeFunction('shown', () => void (wasShown = true));
    await page.addInitScript(() => {
        const tell = (window as unknown as { shown: () => void }).shown;
        const look = () => {
            if (document.body?.innerText.includes('Buy work from')) tell();
            requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
    });
    await page.reload();
    await page.getByRole('banner').getByRole('button', { name: /…/ }).waitFor();
    expect(wasShown).toBe(false);
    await page.getByRole('banner').getByRole('button', { name: /…/ }).click();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.keyboard.press('Escape');
    await follow(page, 'Agents');
    await claim(page).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test.each(Object.entries(HOSTILE))('the example of the home part with %s as its name stays one line of text', async (_, text) => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.route(/\/v1\/agents\?/, async (route) => {
        const answer = await route.fetch();
        const { agents, ...rest } = (await answer.json()) as { agents: object[] };
        await route.fulfill({ response: answer, json: { ...rest, agents: agents.map((agent) => ({ ...agent, name: text })) } });
    });
    await page.goto('/');
    await parts(page).price.waitFor();
    expect(await harm(page)).toEqual([]);
    expect(await layoutProblems(page)).toEqual([]);
    const line = page.getByText('For example').locator('..');
    expect((await line.boundingBox())?.height).toBeLessThan(60);
    expect(problems).toEqual([]);
    await context.close();
});
