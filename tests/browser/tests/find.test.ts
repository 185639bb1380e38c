// The search of the header over agents, executions, addresses, pages and actions, by keyboard and by touch.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { accessibilityProblems, layoutProblems } from '../support/checks';
import { HOSTILE, harm } from '../support/hostile';
import { ownNetwork } from '../support/ownNetwork';

const open = useBrowser();
const { agents } = ownNetwork();
const first = agents[0]?.name ?? '';

const NAME = 'Find agents, executions, addresses, pages and actions';
const BUTTON = 'Find Ctrl K: agents, executions, addresses, pages and actions';
const dialog = (page: Page) => page.getByRole('dialog', { name: NAME });
const field = (page: Page) => dialog(page).getByRole('searchbox', { name: NAME });
const focused = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.id ?? '');

test('by keyboard alone: an agent, an execution, a page and an action are found, and the focus is never lost', async () => {
    const { page, context, problems } = await open();
    let asked = 0;
    page.on('request', (request) => void (asked += /\/v1\/agents\?.*relevance/.test(request.url()) ? 1 : 0));
    await page.goto('/network');
    await page.getByRole('heading', { level: 1, name: 'Network' }).waitFor();
    expect(await page.evaluate(() => performance.getEntriesByType('resource').some(({ name }) => /\/Find-[^/]*\.js$/.test(name)))).toBe(false);
    const button = page.getByRole('banner').getByRole('button', { name: BUTTON });
    await button.focus();
    await page.keyboard.press('Enter');
    await field(page).waitFor();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);

    await page.keyboard.press('Control+k');
    await field(page).pressSequentially(first.slice(0, 6));
    await dialog(page).getByRole('menuitem', { name: first }).waitFor();
    // What is typed in one go is one question to the service.
    expect(asked).toBe(1);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: first }).waitFor();
    await expect.poll(() => focused(page)).toBe('main');

    await page.keyboard.press('Control+k');
    await field(page).fill('806e1eba-133b-4100-9a5e-ddbe7c578906');
    await dialog(page).getByRole('menuitem', { name: 'Execution' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/executions\/806e1eba-133b-4100-9a5e-ddbe7c578906$/);

    await page.keyboard.press('Control+k');
    await field(page).fill('keys');
    await dialog(page).getByRole('menuitem', { name: /^Keys/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/keys$/);
    await page.keyboard.press('Control+k');
    await field(page).fill('change the theme');
    await dialog(page).getByRole('menuitem', { name: 'Change the theme' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.documentElement.dataset['theme'] === 'light');
    expect(await page.evaluate(() => document.activeElement !== document.body)).toBe(true);

    await page.keyboard.press('Control+k');
    await field(page).fill('nothingofthatname');
    await dialog(page).getByText('Nothing found.').waitFor();
    await page.keyboard.press('Control+k');
    await dialog(page).waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
    await context.close();
});

test('on a phone it opens with a press, closes with a press beside it, and hostile names are one line of text each', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    const texts = Object.values(HOSTILE);
    await page.route(/\/v1\/agents\?/, async (route) => {
        const answer = await route.fetch({ url: new URL('/v1/agents?limit=1', route.request().url()).href });
        const { agents: [agent], ...rest } = (await answer.json()) as { agents: object[] };
        const named = texts.map((name, number) => ({ ...agent, agent_id: `a${number}`, name }));
        await route.fulfill({ response: answer, json: { ...rest, agents: named } });
    });
    await page.goto('/network');
    await page.getByRole('banner').getByRole('button', { name: BUTTON }).click();
    await field(page).fill('x');
    const items = dialog(page).getByRole('group', { name: 'Agents' }).getByRole('menuitem');
    await expect.poll(() => items.count()).toBe(texts.length);
    for (const item of await items.all()) expect((await item.boundingBox())?.height).toBeLessThanOrEqual(44);
    expect(await harm(page)).toEqual([]);
    expect(await layoutProblems(page)).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.touchscreen.tap(200, 820);
    await dialog(page).waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
    await context.close();
});

test('a page that comes late does not close it', async () => {
    const { page, context, problems } = await open();
    await page.goto('/network');
    await page.getByRole('heading', { level: 1, name: 'Network' }).waitFor();
    let release = (): void => undefined;
    const isReleased = new Promise<void>((resolve) => (release = resolve));
    await page.route(/\/KeysPage-[^/]*\.js$/, async (route) => {
        await isReleased;
        await route.fallback();
    });
    await page.keyboard.press('Control+k');
    await field(page).fill('keys');
    await dialog(page).getByRole('menuitem', { name: /^Keys/ }).waitFor();
    await page.keyboard.press('Enter');
    await dialog(page).waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await field(page).fill('theme');
    release();
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    await page.keyboard.press('s');
    expect(await field(page).inputValue()).toBe('themes');
    expect(problems).toEqual([]);
    await context.close();
});

test('it opens again before the closed one is removed', async () => {
    const { page, context, problems } = await open();
    await page.goto('/network');
    await page.getByRole('heading', { level: 1, name: 'Network' }).waitFor();
    await page.keyboard.press('Control+k');
    await field(page).fill('before');
    // In one task, so nothing is removed between the two.
    await page.evaluate(() => {
        document.querySelector<HTMLElement>(':popover-open')?.hidePopover();
        document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }));
    });
    await expect.poll(() => field(page).inputValue()).toBe('');
    await page.keyboard.press('x');
    expect(await field(page).inputValue()).toBe('x');
    expect(problems).toEqual([]);
    await context.close();
});

test('arrow keys and the pointer choose, and the choice stays when agents arrive above it', async () => {
    const { page, context, problems } = await open();
    let release = (): void => undefined;
    const isReleased = new Promise<void>((resolve) => (release = resolve));
    await page.route(/\/v1\/agents\?.*relevance/, async (route) => {
        const answer = await route.fetch({ url: new URL('/v1/agents?limit=2', route.request().url()).href });
        await isReleased;
        await route.fulfill({ response: answer });
    });
    await page.goto('/network');
    await page.getByRole('heading', { level: 1, name: 'Network' }).waitFor();
    await page.keyboard.press('Control+k');
    await field(page).waitFor();
    const items = dialog(page).getByRole('menuitem');
    const chosen = async (): Promise<number> => {
        const id = await field(page).getAttribute('aria-activedescendant');
        return (await items.evaluateAll((all) => all.map((item) => item.id))).indexOf(id ?? '');
    };
    const last = (await items.count()) - 1;
    // Nothing is chosen before somebody types or presses an arrow key.
    expect(await chosen()).toBe(-1);
    for (const [key, position] of [['ArrowUp', last], ['ArrowDown', 0], ['ArrowDown', 1]] as const) {
        await page.keyboard.press(key);
        expect(await chosen()).toBe(position);
    }
    await items.nth(3).hover();
    await expect.poll(chosen).toBe(3);
    await field(page).fill('key');
    const first = (await items.first().textContent()) ?? '';
    expect(await chosen()).toBe(0);
    release();
    await dialog(page).getByRole('group', { name: 'Agents' }).waitFor();
    expect(await chosen()).toBe(2);
    expect(await items.nth(2).textContent()).toBe(first);
    await items.first().click();
    await page.waitForURL(/\/agents\//);
    expect(problems).toEqual([]);
    await context.close();
});
