// A page that is open while the service is away, or is replaced by a newer version.

import type { BrowserContext, Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { connectNew } from '../support/newWallet';
import { ownNetwork } from '../support/ownNetwork';
import { follow, openForm, payButton } from '../support/runs';

const open = useBrowser();
const network = ownNetwork();

const AWAY = 'Waiting for the service';
const own = (url: URL): boolean => url.origin === new URL(network.base_url).origin;

/** Cuts the service off, as a stopped process does; `back` ends it. */
async function cutOff(context: BrowserContext): Promise<{ back: () => Promise<void> }> {
    const abort = (route: Route): Promise<void> => route.abort('connectionrefused');
    await context.route(own, abort);
    return { back: () => context.unroute(own, abort) };
}

const marked = (page: Page): Promise<boolean> => page.evaluate(() => 'isSamePage' in window);
const mark = (page: Page): Promise<void> => page.evaluate(() => void Object.assign(window, { isSamePage: true }));

test('a page whose part is gone loads the new version once', async () => {
    const { page, context } = await open();
    await page.goto('/');
    await page.getByRole('link', { name: network.agents[0]?.name ?? '' }).waitFor();
    await mark(page);
    // The version that was deployed meanwhile does not have the part of this page, and the page of that version has its own.
    let isNew = false;
    page.on('request', (request) => void (isNew ||= request.isNavigationRequest()));
    await page.route('**/assets/NetworkPage*.js', (route) => {
        return !isNew ? route.fulfill({ status: 404, json: { error: { code: 'not_found', message: 'nothing', execution_id: null } } }) : route.fallback();
    });
    await follow(page, 'Network');
    await page.getByRole('heading', { level: 1, name: 'Network' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/network');
    expect(await marked(page)).toBe(false);
    await context.close();
});

test('a part that is missing for good does not load the page for ever', async () => {
    const { page, context } = await open();
    let documents = 0;
    page.on('request', (request) => void (documents += request.isNavigationRequest() ? 1 : 0));
    await page.route('**/assets/NetworkPage*.js', (route) => route.fulfill({ status: 404, body: '' }));
    await page.goto('/');
    await page.getByRole('link', { name: network.agents[0]?.name ?? '' }).waitFor();
    await follow(page, 'Network');
    await page.getByText('This page could not be shown').first().waitFor();
    await page.getByText('Load the page again.').waitFor();
    expect(documents).toBe(2);
    // The other pages still work.
    await follow(page, 'Agents');
    await page.getByRole('link', { name: network.agents[0]?.name ?? '' }).waitFor();
    await context.close();
});

test('a page waits for a service that is away, keeps what was written, and goes on by itself', async () => {
    const { page, context } = await open();
    await openForm(page, network, 0);
    await connectNew(page);
    await page.getByLabel('What should the agent do?').fill('Half a sentence');
    await mark(page);
    const { back } = await cutOff(context);
    await follow(page, 'Disputes');
    await page.getByText(AWAY).waitFor();
    expect(await page.getByText('This page could not be shown').count()).toBe(0);
    await back();
    await page.getByRole('heading', { level: 1, name: 'Disputes' }).waitFor();
    await page.getByText(AWAY).waitFor({ state: 'detached' });
    expect(await marked(page)).toBe(true);
    await page.goBack();
    expect(await page.getByLabel('What should the agent do?').inputValue()).toBe('Half a sentence');
    await payButton(page).waitFor();
    await context.close();
});

test('what could not be read while the service was away is read when it is back', async () => {
    const { page, context } = await open();
    await page.goto('/network');
    await page.getByRole('heading', { level: 1, name: 'Network' }).waitFor();
    const { back } = await cutOff(context);
    await follow(page, 'Agents');
    await page.getByText(AWAY).waitFor();
    await back();
    await page.getByRole('link', { name: network.agents[0]?.name ?? '' }).waitFor();
    await page.getByText(AWAY).waitFor({ state: 'detached' });
    await page.getByText('No connection to the service').waitFor({ state: 'detached' });
    await context.close();
});
