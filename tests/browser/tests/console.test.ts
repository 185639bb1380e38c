// In normal use a page writes nothing to the console: no error, no warning, and no request that is refused.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { connectNew } from '../support/newWallet';
import { ownNetwork } from '../support/ownNetwork';
import { actAs, call, connect, follow, openForm, payButton, verify } from '../support/runs';

const open = useBrowser();
const network = ownNetwork();

/** Everything that the page writes to the console, and every answer that a browser writes there. */
function listen(page: Page): string[] {
    const said: string[] = [];
    page.on('pageerror', (error) => said.push(`thrown: ${error.message}`));
    page.on('console', (message) => {
        if (['error', 'warning', 'assert'].includes(message.type())) said.push(`${message.type()}: ${message.text()} at ${new URL(page.url()).pathname} (${message.location().url})`);
    });
    return said;
}

test('a visitor who looks around', async () => {
    const { page, context } = await open();
    const said = listen(page);
    await page.goto('/');
    await page.getByRole('link', { name: network.agents[0]?.name ?? '' }).click();
    await page.getByRole('heading', { name: 'Input and output' }).waitFor();
    await page.getByText('The agent works.').waitFor();
    for (const [link, text] of [
        ['Executions', 'Executions are shown to the wallet'],
        ['Keys', 'Only the wallet that owns the keys can see them.'],
        ['My agents', 'The page shows the agents that your wallet listed'],
        ['Disputes', 'Disputes are shown'],
    ] as const) {
        await follow(page, link);
        await page.getByText(text).waitFor();
    }
    await follow(page, 'Network');
    await page.getByRole('heading', { name: 'Network', level: 1 }).waitFor();
    await page.getByRole('contentinfo').getByRole('link', { name: 'HTTP API' }).click();
    await page.getByRole('heading', { name: 'HTTP API', level: 1 }).waitFor();
    await follow(page, 'Agents');
    await page.getByLabel('Search agents').fill('text');
    await page.waitForURL(/q=text/);
    expect(said).toEqual([]);
    await context.close();
});

test('a caller who signs in, calls, verifies, and looks at everything private', async () => {
    const { page, context } = await open();
    const said = listen(page);
    await page.goto('/');
    await connectNew(page);
    await call(page, network);
    await verify(page);
    await page.reload();
    await page.getByRole('button', { name: /^Verify/ }).waitFor();
    for (const [link, text] of [
        ['Executions', 'Save as CSV'],
        ['Keys', 'No key yet'],
        ['My agents', 'You have not listed an agent yet'],
        ['Disputes', 'No dispute'],
    ] as const) {
        await follow(page, link);
        await page.getByText(text).first().waitFor();
    }
    await page.getByRole('link', { name: 'Raise a dispute' }).click();
    await page.getByRole('heading', { name: 'Raise a dispute' }).waitFor();
    await page.goto('/keys/new');
    await page.getByLabel('Name').waitFor();
    await page.goto('/creator/new');
    await page.getByRole('navigation', { name: 'Steps' }).waitFor();
    await openForm(page, network, 1);
    await payButton(page).waitFor();
    expect(said).toEqual([]);
    await context.close();
});

test('a creator and the admin', async () => {
    const { page, context } = await open();
    const said = listen(page);
    await page.goto('/creator');
    await connect(page);
    await actAs(page, 'Creator');
    await page.getByRole('table', { name: 'My agents' }).getByRole('link', { name: network.agents[0]?.name ?? '' }).click();
    await page.getByRole('tab', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Leave the market' }).waitFor();
    await actAs(page, 'Admin');
    await follow(page, 'Admin');
    await page.getByRole('table', { name: 'Creators of the newest agents' }).waitFor();
    await page.getByRole('link', { name: /^Who is this/ }).first().click();
    await page.getByRole('button', { name: /^(Verify this creator|Take the badge)/ }).waitFor();
    expect(said).toEqual([]);
    await context.close();
});
