// Calls of agents, as a user makes them.

import type { Locator, Page } from 'playwright-core';

import { chooseAccount } from './account';
import { openedAt } from './chain';
import { type Hand, pointer } from './hand';
import { until } from './market';
import type { Network } from './network';
import { connectNew } from './newWallet';

/** Connects the wallet of the demo's caller. */
export async function connect(page: Page, by: Hand = pointer(page)): Promise<void> {
    await by.press(page.getByRole('banner').getByRole('button', { name: 'Connect' }));
    await by.press(page.getByRole('button', { name: 'Local test wallet' }));
    await page.getByText('nothing here has a value').waitFor();
    await by.key('Escape');
}

/** Signs with another account of the local test wallet from now on, such as `Admin`. The page stays where it is. */
export async function actAs(page: Page, role: string, by?: Hand): Promise<void> {
    const isKnown = await page.evaluate(() => localStorage.getItem('crtx.wallet') !== null);
    if (!isKnown) await connect(page, by);
    // On a phone the button has the address alone.
    await (by ?? pointer(page)).press(page.getByRole('banner').getByRole('button', { name: /…/ }));
    await chooseAccount(page, role, by);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Wallet' }).waitFor({ state: 'detached' });
}

/** Shows the link of a page in the header: it is in a group, and in the menu of a narrow window. */
export async function showLink(page: Page, name: string): Promise<Locator> {
    const navigation = page.getByRole('navigation', { name: 'Pages' });
    const menu = navigation.getByRole('button', { name: 'Menu' });
    const link = navigation.getByRole('link', { name, exact: true });
    if (await menu.isVisible()) {
        await menu.click();
    } else if (!(await link.isVisible())) {
        const group = await navigation.locator('a', { has: page.getByText(name, { exact: true }) }).evaluate((hidden) => hidden.closest('ul')?.id);
        if (group !== undefined) await navigation.locator(`button[aria-controls="${group}"]`).click();
    }
    await link.waitFor();
    return link;
}

/** Follows a link of the header. */
export async function follow(page: Page, name: string): Promise<void> {
    await (await showLink(page, name)).click();
}

/** `0`: counts words. `1`: behaves as it is told. */
export async function openForm(page: Page, { agents }: Network, agent: 0 | 1): Promise<void> {
    await page.goto(`/agents/${agents[agent]?.agent_id}`);
    await page.getByRole('heading', { level: 2, name: 'Run it' }).waitFor({ state: 'attached' });
}

export const payButton = (page: Page) => page.getByRole('button', { name: /^Pay .* and run$/ });

/** Leaves the page of the execution open, and returns its id. */
export async function pay(page: Page): Promise<string> {
    await payButton(page).click();
    await page.waitForURL(/\/executions\//);
    return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

/** The call has succeeded. */
export const done = (page: Page): Promise<void> => page.getByText('Done', { exact: true }).first().waitFor();

/** A whole call that succeeds, or that ends in a refund. */
export async function call(page: Page, network: Network, behaviour?: string): Promise<string> {
    await openForm(page, network, behaviour === undefined ? 0 : 1);
    await page.getByLabel('What should the agent do?').fill('The quick brown fox jumps over the lazy dog. It is quick.');
    if (behaviour !== undefined) await page.getByLabel(/^behaviour/).selectOption({ label: behaviour });
    const id = await pay(page);
    await (behaviour === undefined ? done(page) : page.getByText('your money is back').waitFor());
    // The chain has ended it too.
    await page.locator('ol a').nth(1).waitFor();
    return id;
}

/** A new wallet pays for a call of which the service never hears. */
export async function openWithoutService(page: Page, network: Network, agent: 0 | 1, task: string): Promise<{ wallet: string; id: string }> {
    await page.route('**/dispatch', (route) => route.fulfill({ status: 400, json: { error: { code: 'invalid_request', message: 'not today' } } }));
    await page.goto('/executions');
    const wallet = await connectNew(page);
    await openForm(page, network, agent);
    await page.getByLabel('What should the agent do?').fill(task);
    const id = await pay(page);
    await page.getByText('The service did not take the request').waitFor();
    return { wallet, id };
}

/** The address of an execution's record, as the service tells the page once its index has it. */
export async function recordOf(page: Page, id: string): Promise<string> {
    const read = () =>
        page.evaluate(async (id) => ((await (await fetch(`/v1/executions/${id}`)).json()) as { on_chain_record?: string }).on_chain_record, id);
    const link = await until(read, (link) => link !== undefined);
    return new URL(link ?? '').pathname.split('/').at(-1) ?? '';
}

/** The verdict of Verify, and the names of the checks that failed. */
export async function verify(page: Page): Promise<{ verdict: string; passed: number; failed: string[] }> {
    await page.getByRole('button', { name: /^Verify/ }).click();
    const section = page.getByRole('region', { name: 'Verify' });
    await section.getByRole('status').getByText(/verified/i).waitFor();
    await page.getByRole('button', { name: 'Verify again' }).waitFor();
    const failed = await section.getByRole('heading', { level: 3, name: /FAILED$/ }).allInnerTexts();
    return {
        verdict: await section.getByRole('status').innerText(),
        passed: await section.getByRole('heading', { level: 3, name: /passed$/ }).count(),
        failed: failed.map((text) => text.replace(/^✗\s*|\s*FAILED$/g, '')),
    };
}

/** What the demo's creator answers, asked without the service. */
export async function askCreator(network: Network, task: string, id: string, record: string, wallet: string): Promise<string> {
    const agent = network.agents[0]?.agent_id ?? '';
    const listing = (await (await fetch(`${network.base_url}/v1/agents/${agent}/listing`)).json()) as { document: object };
    const cid = /bafkrei[a-z2-7]+/.exec(JSON.stringify(listing.document))?.[0] ?? '';
    const { endpoint } = (await (await fetch(`${network.base_url}/ipfs/${cid}`)).json()) as { endpoint: string };
    const opened_at_unix_s = await openedAt(record, network.rpc_url);
    const call = { execution_id: id, task, parameters: {}, user_pubkey: wallet, timeout_seconds: 60 };
    const request = { ...call, execution_record: record, opened_at_unix_s };
    const answer = await fetch(endpoint, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request) });
    return answer.text();
}
