// What a page says and does while someone uses it: a paused market, filters, drafts, dangerous buttons, narrow screens,
// and where the focus is.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { chooseAccount } from '../support/account';
import { SCHEMES, useBrowser } from '../support/browser';
import { accessibilityProblems, layoutProblems } from '../support/checks';
import { focusOf } from '../support/hand';
import { factsOf, until } from '../support/market';
import { type Network, startNetwork } from '../support/network';
import { openTab } from '../support/creatorPages';
import { connectNew, signIn } from '../support/newWallet';
import { actAs, call, connect, follow, openForm, payButton } from '../support/runs';

let network: Network;
let end: () => Promise<void>;

beforeAll(async () => {
    ({ network, end } = await startNetwork());
});
afterAll(() => end?.());

const open = useBrowser(() => network);

const BANNER = 'Paused: no new calls';

async function setCalls(page: Page, label: 'Stop new calls' | 'Resume new calls'): Promise<void> {
    await page.goto('/admin');
    await actAs(page, 'Admin');
    await page.getByRole('button', { name: `${label} …` }).click();
    await page.getByRole('dialog').getByRole('button', { name: label, exact: true }).click();
    await until(() => factsOf(network), ({ openings_paused: isPaused }) => isPaused === (label === 'Stop new calls'));
}

test('a paused market is said on every page, and what it stops is disabled with the reason', async () => {
    const { page, context, problems } = await open();
    const { agents } = network;
    await setCalls(page, 'Stop new calls');
    try {
        for (const path of ['/', `/agents/${agents[0]?.agent_id}`, '/executions', '/keys', '/creator', '/disputes', '/network', '/docs', '/admin', '/no/such/page']) {
            await page.goto(path);
            await page.getByText(BANNER).waitFor();
            await page.getByRole('heading', { level: 1 }).waitFor();
            expect(await layoutProblems(page), path).toEqual([]);
            expect(await accessibilityProblems(page), path).toEqual([]);
        }
        await openForm(page, network, 0);
        await actAs(page, 'Caller');
        await page.getByText('The marketplace is paused').waitFor();
        await payButton(page).waitFor();
        expect(await payButton(page).isDisabled()).toBe(true);
    } finally {
        await setCalls(page, 'Resume new calls');
    }
    // Nobody has to load the page again.
    await page.getByText(BANNER).waitFor({ state: 'detached', timeout: 45_000 });
    await openForm(page, network, 0);
    await actAs(page, 'Caller');
    await page.locator('button:enabled', { hasText: /^Pay/ }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('a request that is being written survives a reload', async () => {
    const { page, context, problems } = await open();
    await openForm(page, network, 0);
    await page.getByLabel('What should the agent do?').fill('Half a sentence');
    await page.getByLabel(/^top_words/).fill('7x');
    await page.reload();
    await page.getByText('The agent works.').waitFor();
    expect(await page.getByLabel('What should the agent do?').inputValue()).toBe('Half a sentence');
    expect(await page.getByLabel(/^top_words/).inputValue()).toBe('7x');
    expect(problems).toEqual([]);
    await context.close();
});

test('filters apply while someone types, without leaving the field', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await page.getByRole('link', { name: network.agents[1]?.name ?? '' }).waitFor();
    const price = page.getByLabel('Highest price (USDC)');
    await price.pressSequentially('0.015');
    await page.getByRole('link', { name: network.agents[1]?.name ?? '' }).waitFor({ state: 'detached' });
    expect([new URL(page.url()).search, await price.inputValue()]).toEqual(['?max_price=0.015', '0.015']);
    expect(await price.evaluate((input) => document.activeElement === input)).toBe(true);
    await page.goBack();
    await page.waitForURL((url) => url.search === '');
    expect(await price.inputValue()).toBe('');

    await page.goto('/executions');
    await connectNew(page);
    await signIn(page);
    await page.getByText('You have not called an agent yet').waitFor();
    await page.getByText('Agent and exact time').click();
    await page.getByLabel('Started after').fill('2031-05-06T07:08');
    await page.getByText('No execution matches').waitFor();
    expect(new URL(page.url()).searchParams.get('from')).toBe('2031-05-06T07:08:00Z');
    expect(problems).toEqual([]);
    await context.close();
});

test('the name that a badge is for stands in the table of the admin', async () => {
    const { page, context, problems } = await open();
    await page.goto('/admin');
    await actAs(page, 'Admin');
    const row = page.getByRole('table', { name: 'Creators of the newest agents' }).getByRole('row').nth(1);
    const { creator } = (await (await fetch(`${network.base_url}/v1/agents/${network.agents[0]?.agent_id}`)).json()) as { creator: { display_name: string } };
    expect(creator.display_name).not.toBe('');
    await row.getByRole('cell', { name: creator.display_name, exact: true }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('what takes something away looks like it, and nothing else does', async () => {
    const { page, context, problems } = await open();
    const border = (name: string | RegExp): Promise<string> =>
        page.getByRole('main').getByRole('button', { name }).first().evaluate((button) => getComputedStyle(button).borderColor);
    const danger = async (name: string | RegExp, calm: string | RegExp): Promise<void> => {
        await page.getByRole('main').getByRole('button', { name }).first().waitFor();
        const [one, other] = [await border(name), await border(calm)];
        expect(one).toBe('rgb(171, 35, 27)');
        expect(other).not.toBe(one);
        for (const scheme of SCHEMES) {
            await page.emulateMedia({ colorScheme: scheme });
            expect(await accessibilityProblems(page), `${String(name)}, ${scheme}`).toEqual([]);
        }
        await page.emulateMedia({ colorScheme: 'light' });
    };
    await page.goto('/admin');
    await actAs(page, 'Admin');
    await danger(/^Stop new calls/, 'Look up');
    await danger(/^Remove the resolver/, 'Look up');
    await page.goto('/creator');
    await actAs(page, 'Creator');
    await page.getByRole('table', { name: 'My agents' }).getByRole('link', { name: network.agents[0]?.name ?? '' }).click();
    await danger('Pause the agent', /Add|Copy/);
    await openTab(page, 'Leave');
    await danger('Delist …', 'Sign in');
    await page.getByRole('button', { name: 'Delist …' }).click();
    await danger('Delist for good', 'Cancel');
    await page.goto('/keys');
    await actAs(page, 'Caller');
    await signIn(page);
    await danger('Revoke', 'Rename');
    await page.getByRole('button', { name: 'Revoke' }).first().click();
    await danger('Revoke for good', 'Cancel');
    expect(problems).toEqual([]);
    await context.close();
});

test('results are public, and a caller and a creator read it before they sign', async () => {
    const { page, context, problems } = await open();
    await openForm(page, network, 0);
    await page.getByText('The result is public.').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

/** Whatever of the header is cut off, stands outside of the window, or lies over something else. */
const headerProblems = (page: Page): Promise<string[]> =>
    page.evaluate(() => {
        const parts = [...document.querySelectorAll<HTMLElement>('header a, header button, header input')].filter((part) => part.checkVisibility());
        const boxes = parts.map((part) => ({ name: part.textContent || part.ariaLabel || part.tagName, part, box: part.getBoundingClientRect() }));
        const found = boxes.flatMap(({ name, part, box }) => [
            ...(box.left < 0 || box.right > document.documentElement.clientWidth ? [`${name} is outside`] : []),
            ...(part.scrollWidth > part.clientWidth + 1 && part.tagName !== 'INPUT' ? [`${name} is cut`] : []),
            ...(part.tagName === 'BUTTON' && box.height > 44 ? [`${name} is broken into lines`] : []),
        ]);
        for (const one of boxes) {
            for (const other of boxes) {
                if (one === other || one.part.contains(other.part) || other.part.contains(one.part)) continue;
                const [a, b] = [one.box, other.box];
                if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) found.push(`${one.name} lies over ${other.name}`);
            }
        }
        return found;
    });

test('the header is whole on the narrowest screen', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    for (const width of [320, 344, 390]) {
        await page.setViewportSize({ width, height: 640 });
        for (const path of ['/', `/agents/${network.agents[0]?.agent_id}/run`, '/executions', '/network', '/docs']) {
            await page.goto(path);
            await page.getByRole('heading', { level: 1 }).waitFor();
            expect(await headerProblems(page), `${path} at ${width}`).toEqual([]);
            expect(await layoutProblems(page), `${path} at ${width}`).toEqual([]);
        }
    }
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto('/');
    await connect(page);
    expect(await headerProblems(page)).toEqual([]);
    await page.getByRole('banner').getByRole('button', { name: /…/ }).click();
    await page.getByRole('button', { name: 'Disconnect' }).waitFor();
    expect(await layoutProblems(page)).toEqual([]);
    const cut = await page.getByRole('dialog', { name: 'Wallet' }).evaluate((dialog) => dialog.scrollWidth > dialog.clientWidth);
    expect(cut).toBe(false);
    expect(problems).toEqual([]);
    await context.close();
});

test('the focus never falls to the body, on any page and after any action', async () => {
    const { page, context, problems } = await open();
    const lost: string[] = [];
    const look = async (when: string): Promise<void> => {
        if ((await focusOf(page)) === 'body') lost.push(when);
    };
    /** By the keyboard, as those do who need the focus. */
    const press = async (name: string | RegExp, within: 'main' | 'dialog' | 'banner' = 'main', key = 'Enter'): Promise<void> => {
        const button = page.getByRole(within).getByRole('button', { name, disabled: false }).first();
        await button.focus();
        await page.keyboard.press(key);
        await look(`after ${String(name)} on ${new URL(page.url()).pathname}`);
    };
    await page.goto('/');
    await page.getByRole('link', { name: network.agents[0]?.name ?? '' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Input and output' }).waitFor();
    await look('after opening an agent');
    // The wallet: connected, another account, disconnected.
    await press('Connect', 'banner');
    await press('Local test wallet', 'dialog');
    await chooseAccount(page, 'New wallet');
    await look('after another account');
    await press(/^Get 1/, 'dialog');
    await page.getByText('1\u202f000', { exact: true }).waitFor();
    await look('after the money came');
    await page.keyboard.press('Escape');
    await look('after the wallet closed');
    await press(/…/, 'banner');
    await press('Disconnect', 'dialog');
    await page.keyboard.press('Escape');
    await look('after the wallet closed again');
    await connectNew(page);
    // Every page of the header, private ones with their sign-in.
    for (const link of ['Executions', 'Keys', 'My agents', 'Disputes', 'Network', 'Agents']) {
        await follow(page, link);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await look(`after the link ${link}`);
        const sign = page.getByRole('main').getByRole('button', { name: 'Sign in' });
        await page.waitForLoadState('networkidle');
        if (await sign.isVisible()) {
            await press('Sign in');
            await sign.waitFor({ state: 'detached' });
            await look(`after the sign-in on ${link}`);
        }
    }
    // A call: the button is disabled, and the page is another one.
    await openForm(page, network, 0);
    await page.getByLabel('What should the agent do?').fill('One two.');
    await page.locator('button:enabled', { hasText: /^Pay/ }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/executions\//);
    await look('while the call goes on');
    await page.getByText('Done', { exact: true }).first().waitFor();
    await look('after the call');
    await press(/^Verify/);
    await page.getByRole('button', { name: 'Verify again' }).waitFor();
    await look('after Verify');
    // Filters that disappear with what they filtered.
    await page.goto('/executions?status=failed');
    await page.getByRole('button', { name: 'Clear all filters' }).waitFor();
    await press('Clear all filters');
    // Keys: panels that open and close, a key that is made and discarded.
    await page.goto('/keys/new');
    await page.getByLabel('Name').fill('nightly');
    await page.getByLabel(/per call/).fill('0.05');
    await page.getByLabel(/total/i).first().fill('1');
    // A browser does not submit a form whose button is disabled, and it is until the wallet's money is known.
    await page.getByRole('button', { name: 'Make the key', disabled: false }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Discard this key' }).waitFor();
    await look('after the key was made');
    await press('Discard this key');
    // The creator's page and the question of the admin.
    await page.goto('/creator');
    await actAs(page, 'Creator');
    await page.getByRole('table', { name: 'My agents' }).getByRole('link', { name: network.agents[1]?.name ?? '' }).focus();
    await page.keyboard.press('Enter');
    await openTab(page, 'Leave');
    await press('Delist …');
    await press('Cancel', 'dialog');
    await press('Pause the agent');
    await page.getByRole('button', { name: 'Resume the agent' }).waitFor();
    await look('after the pause');
    await press('Resume the agent');
    await page.getByRole('button', { name: 'Pause the agent' }).waitFor();
    await look('after the agent was resumed');
    await page.goto('/admin');
    await actAs(page, 'Admin');
    await press(/^Stop new calls/);
    await press('Cancel', 'dialog');
    await press(/^Stop new calls/);
    await page.keyboard.press('Escape');
    await look('after Escape');
    expect(lost).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});

test('a list of the wallet that is shown is never the list of the one before', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connectNew(page);
    await call(page, network);
    await follow(page, 'Executions');
    await page.getByText('1 execution', { exact: true }).waitFor();
    await actAs(page, 'Creator');
    await page.getByText('Executions are shown to the wallet that they belong to.').waitFor();
    expect(await page.getByText('1 execution', { exact: true }).count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
});
