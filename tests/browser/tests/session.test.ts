// One browser has one session: two tabs, and a session that ends while a page is open.

import type { BrowserContext, Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { connectNew, signIn } from '../support/newWallet';
import { ownNetwork } from '../support/ownNetwork';
import { actAs, call, connect, openForm, payButton } from '../support/runs';

const open = useBrowser();
const network = ownNetwork();

const SIGN_IN = { name: 'Sign in' } as const;
const banner = (page: Page) => page.getByRole('banner').getByRole('button', { name: /…/ });
const remembered = (page: Page): Promise<string> => page.evaluate(() => (JSON.parse(localStorage.getItem('crtx.wallet') ?? '[]') as string[])[1] ?? '');

/** Ends the session as if seven days had passed. */
async function endSession(context: BrowserContext): Promise<void> {
    await context.clearCookies();
}

/** Wallets that requests with the session's cookie named, and whose session answered. */
function watch(page: Page): string[] {
    const wrong: string[] = [];
    page.on('request', async (request) => {
        const headers = await request.allHeaders().catch((error: unknown) => {
            // A page that is closed meanwhile takes them along. Every other error fails the run.
            if (!page.isClosed()) throw error;
            return {} as Record<string, string>;
        });
        const { cookie, 'x-crtx-wallet': wallet } = headers;
        const { pathname } = new URL(request.url());
        const isSession = pathname.startsWith('/v1/sessions') || pathname.startsWith('/v1/sign-in');
        if (cookie?.includes('crtx_session') === true && wallet === undefined && !isSession && pathname.startsWith('/v1/')) wrong.push(pathname);
    });
    return wrong;
}

test('two tabs never show one wallet above the data of another one', async () => {
    const { page: first, context, problems } = await open();
    const unnamed = watch(first);
    await first.goto('/executions');
    await connect(first);
    await signIn(first);
    await first.getByText('Save as CSV').or(first.getByText('You have not called an agent yet')).waitFor();
    const caller = await remembered(first);

    const second = await context.newPage();
    await second.goto('/executions');
    await second.getByText('Save as CSV').or(second.getByText('You have not called an agent yet')).waitFor();
    await actAs(second, 'Creator');
    await signIn(second);
    const creator = await remembered(second);
    expect(creator).not.toBe(caller);

    // The first tab follows: its header and its page are the creator's.
    await banner(first).filter({ hasText: creator.slice(0, 4) }).waitFor();
    await first.getByText('Save as CSV').or(first.getByText('You have not called an agent yet')).waitFor();
    // The service never answers for another wallet than the one that is named.
    const status = await first.evaluate(
        async (wallet) => (await fetch('/v1/executions', { headers: { 'x-crtx-wallet': wallet } })).status,
        caller,
    );
    expect(status).toBe(409);

    // A sign-out in one tab is one in the other.
    await banner(second).click();
    await second.getByRole('button', { name: 'Disconnect' }).click();
    await first.getByText('Executions are shown to the wallet that they belong to.').waitFor();
    await first.getByRole('banner').getByRole('button', { name: 'Connect' }).waitFor();
    expect(await first.evaluate(async () => (await fetch('/v1/sessions/current')).status)).toBe(401);
    expect([...problems, ...unnamed]).toEqual([]);
    await context.close();
});

test('a tab that did not hear the news asks for the sign-in of its own wallet', async () => {
    const { page, context, problems } = await open();
    await page.addInitScript(() => {
        (window as { BroadcastChannel?: unknown }).BroadcastChannel = undefined;
    });
    await page.goto('/keys');
    await connect(page);
    await signIn(page);
    await page.getByRole('link', { name: 'Make an API key' }).waitFor();
    const caller = await remembered(page);
    const other = await context.newPage();
    await other.goto('/keys');
    await actAs(other, 'Creator');
    await signIn(other);
    await other.getByRole('link', { name: 'Make an API key' }).waitFor();
    // The list of the first tab is asked again when somebody returns to the tab.
    const mismatch = page.getByText(/This browser is signed in with/);
    const returned = async (): Promise<number> => {
        await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
        return mismatch.count();
    };
    await expect.poll(returned, { interval: 1_000 }).toBe(1);
    await banner(page).filter({ hasText: caller.slice(0, 4) }).waitFor();
    await page.getByRole('main').getByRole('button', SIGN_IN).click();
    await page.getByText(/This browser is signed in with/).waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
    await context.close();
});

test('a key form keeps everything when the session ends, and goes on after the sign-in', async () => {
    const { page, context, problems } = await open();
    await page.goto('/keys');
    await connectNew(page);
    await signIn(page);
    await page.getByRole('link', { name: 'Make an API key' }).click();
    await page.getByLabel('Name').fill('nightly');
    await endSession(context);
    // The tab asks for its keys again when it is looked at.
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await page.getByText('Your sign-in has ended.').waitFor();
    expect(await page.getByRole('main').innerText()).not.toMatch(/send the API key|Authorization/i);
    expect(await page.getByLabel('Name').inputValue()).toBe('nightly');
    await page.getByRole('main').getByRole('button', SIGN_IN).click();
    await page.getByText('Your sign-in has ended.').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name').inputValue()).toBe('nightly');
    expect(problems).toEqual([]);
    await context.close();
});

test('evidence that was written is handed in after the sign-in that it needed', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connectNew(page);
    const id = await call(page, network);
    await page.goto(`/disputes/new?execution=${id}`);
    await page.getByLabel('What happened').fill('It counted too few words.');
    await page.getByLabel('Files that prove it').setInputFiles([{ name: 'proof.txt', mimeType: 'text/plain', buffer: Buffer.from('three') }]);
    await endSession(context);
    await page.getByRole('button', { name: 'Raise the dispute' }).click();
    await page.getByText('Your sign-in has ended.').waitFor();
    expect(await page.getByLabel('What happened').inputValue()).toBe('It counted too few words.');
    await page.getByText('proof.txt').waitFor();
    await page.getByRole('main').getByRole('button', SIGN_IN).click();
    await page.getByText('Your sign-in has ended.').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Raise the dispute' }).click();
    await page.waitForURL(/\/disputes\/(?!new)/);
    await page.getByText('proof.txt').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('a call that is paid while the session ends is handed over after the sign-in', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connectNew(page);
    await openForm(page, network, 0);
    await page.getByLabel('What should the agent do?').fill('One two three.');
    await page.route('**/dispatch', async (route) => {
        await endSession(context);
        await route.fulfill({ status: 401, json: { error: { code: 'unauthorized', message: 'send the API key', execution_id: null } } });
    });
    await payButton(page).click();
    const again = page.getByRole('button', { name: 'Hand the request over' });
    await again.waitFor();
    await page.unroute('**/dispatch');
    await again.click();
    await page.getByText('Done', { exact: true }).first().waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('an execution that is open stays when the session ends, and one sign-in is enough', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connectNew(page);
    const id = await call(page, network);
    await endSession(context);
    await page.goto(`/executions/${id}`);
    await page.getByRole('main').getByRole('button', SIGN_IN).click();
    await page.getByRole('button', { name: /^Verify/ }).waitFor();
    expect(await page.getByRole('main').getByRole('button', SIGN_IN).count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
});
