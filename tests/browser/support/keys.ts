// API keys, as a user makes them.

import type { Page } from 'playwright-core';

export type KeyWish = { name: string; perCall?: string; total?: string; /** Without it a day has no limit. */ daily?: string };

/** Fills the form of a new key. */
export async function fillKey(page: Page, { name, perCall = '0.05', total = '5', daily }: KeyWish): Promise<void> {
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByLabel('Limit per call (USDC)').fill(perCall);
    await page.getByLabel('Total limit (USDC)').fill(total);
    if (daily !== undefined) await page.getByLabel('Limit per day (USDC)').fill(daily);
}

/** Makes the key of the filled form. Resolves with its text, as its owner saves it. */
export async function takeKey(page: Page): Promise<string> {
    await page.getByRole('button', { name: 'Make the key' }).click();
    const text = await page.getByText(/^crtx_test_[1-9A-HJ-NP-Za-km-z]+$/).innerText();
    await page.getByLabel('I have saved the key.').check();
    return text;
}

/** A whole key: made, granted, registered. The page of the result stays open. */
export async function makeKey(page: Page, wish: KeyWish): Promise<string> {
    await page.getByRole('link', { name: 'Make an API key' }).click();
    await fillKey(page, wish);
    const text = await takeKey(page);
    await page.getByRole('button', { name: 'Sign and grant' }).click();
    await page.getByText('The key works').waitFor();
    return text;
}

/** The card of a key in the list. */
export const cardOf = (page: Page, name: string) => page.getByRole('listitem').filter({ has: page.getByRole('heading', { level: 3, name, exact: true }) });
