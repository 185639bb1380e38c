// The built-in wallet of the local network: every role, test money, and a session.

import { type IncomingMessage, get } from 'node:http';
import { expect, test } from 'vitest';

import { chooseAccount } from '../support/account';
import { useBrowser } from '../support/browser';
import { rpc, usdcOf } from '../support/chain';
import { ownNetwork } from '../support/ownNetwork';

const open = useBrowser();
const { wallet, base_url } = ownNetwork();

test('a newcomer connects, changes the role, and is still connected after a reload', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Local test wallet' }).click();
    await page.getByText('nothing here has a value').waitFor();
    await chooseAccount(page, 'Creator');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /^Creator/ }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: /^Creator/ }).click();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('button', { name: 'Local test wallet' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('two presses before the panel is built open and close it', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    const button = page.getByRole('banner').getByRole('button', { name: 'Connect' });
    await button.hover();
    await page.waitForLoadState('networkidle');
    await button.evaluate((element: HTMLElement) => (element.click(), element.click()));
    // A frame later React has built what is open now.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
    await button.evaluate((element: HTMLElement) => element.click());
    await page.getByRole('dialog', { name: 'Wallet' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('the panel closes on a press of its button or beside it, on Escape, and when the focus leaves it', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    const button = page.getByRole('banner').getByRole('button', { name: 'Connect' });
    const panel = page.getByRole('dialog', { name: 'Wallet' });
    const ways: [() => Promise<void>, boolean][] = [
        [() => button.click(), true],
        [() => page.locator('main').click({ position: { x: 5, y: 400 } }), false],
        [() => page.keyboard.press('Escape'), true],
        [() => page.keyboard.press('Shift+Tab'), true],
    ];
    for (const [close, isFocusBack] of ways) {
        await button.click();
        await panel.waitFor();
        expect(await panel.evaluate((element) => element === document.activeElement)).toBe(true);
        await close();
        await panel.waitFor({ state: 'detached' });
        await expect.poll(() => button.getAttribute('aria-expanded')).toBe('false');
        if (isFocusBack) expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    }
    expect(problems).toEqual([]);
    await context.close();
});

test('one click gives a new wallet exactly 1 000 USDC and 10 SOL', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Local test wallet' }).click();
    await chooseAccount(page, 'New wallet');
    const address = await page.evaluate(() => (JSON.parse(localStorage.getItem('crtx.wallet') ?? '[]') as string[])[1] ?? '');
    expect(address).not.toBe(wallet);
    expect(await usdcOf(address)).toBe(0n);
    await page.getByRole('button', { name: /^Get 1/ }).click();
    await page.getByText('1\u202f000', { exact: true }).waitFor();
    expect(await usdcOf(address)).toBe(1_000_000_000n);
    const { value } = await rpc<{ value: number }>('getBalance', [address, { commitment: 'confirmed' }]);
    expect(value).toBe(10_000_000_000);
    expect(problems).toEqual([]);
    await context.close();
});

test('the keys of the demo cannot be read from the page', async () => {
    const { page, context } = await open();
    await page.goto('/');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Local test wallet' }).click();
    await page.getByText('nothing here has a value').waitFor();
    const stored = await page.evaluate(async () => {
        const opening = indexedDB.open('crtx-local-wallet');
        const database = await new Promise<IDBDatabase>((resolve) => (opening.onsuccess = () => resolve(opening.result)));
        const reading = database.transaction('keys').objectStore('keys').getAll();
        const keys = await new Promise<CryptoKeyPair[]>((resolve) => (reading.onsuccess = () => resolve(reading.result as CryptoKeyPair[])));
        return { extractable: keys.map(({ privateKey }) => privateKey.extractable), storage: JSON.stringify({ ...localStorage }) };
    });
    expect(stored.extractable).toEqual([false]);
    expect(stored.storage).not.toMatch(/[1-9A-HJ-NP-Za-km-z]{80}/);
    await context.close();
});

test.each([
    { case: 'without an origin', headers: { 'content-type': 'application/json' } },
    { case: 'of another origin', headers: { 'content-type': 'application/json', origin: 'http://evil.example' } },
    { case: 'of localhost', headers: { 'content-type': 'application/json', origin: base_url.replace('127.0.0.1', 'localhost') } },
])('a request for the wallets $case gets nothing', async ({ headers }) => {
    const answer = await fetch(`${base_url}/local/wallets`, { method: 'POST', headers: headers as Record<string, string>, body: '{}' });
    expect(answer.status).toBe(403);
    expect(await answer.text()).not.toContain('secret');
});

test('localhost leads to the address that wallets and sessions are bound to', async () => {
    const url = `${base_url.replace('127.0.0.1', 'localhost')}/agents/x?y=1`;
    // `fetch` says that it is no navigation.
    const answer = await new Promise<IncomingMessage>((resolve, reject) =>
        get(url, { headers: { accept: 'text/html' }, family: 4 }, resolve).on('error', reject),
    );
    answer.resume();
    expect(answer.headers.location).toBe(`${base_url}/agents/x?y=1`);
});
