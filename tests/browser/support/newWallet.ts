// A wallet that a test has for itself: made in the browser, funded by one click.

import type { Page } from 'playwright-core';

import { chooseAccount } from './account';

/** Connects it. Resolves with its address, once it has 1 000 USDC and 10 SOL. */
export async function connectNew(page: Page): Promise<string> {
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Local test wallet' }).click();
    await chooseAccount(page, 'New wallet');
    const dialog = page.getByRole('dialog', { name: 'Wallet' });
    await dialog.getByRole('button', { name: /^Get 1/ }).click();
    await dialog.getByText('1\u202f000', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    return page.evaluate(() => (JSON.parse(localStorage.getItem('crtx.wallet') ?? '[]') as string[])[1] ?? '');
}

/** Signs in where a page asks for it. */
export const signIn = (page: Page): Promise<void> => page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
