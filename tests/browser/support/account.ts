// The accounts of the local test wallet, chosen in its dialog as a user does.

import type { Page } from 'playwright-core';

import type { Hand } from './hand';

/** Chooses an account, such as `Admin`, in the open dialog, and waits until it is the one in use. */
export async function chooseAccount(page: Page, label: string, by?: Hand): Promise<void> {
    const dialog = page.getByRole('dialog', { name: 'Wallet' });
    const name = new RegExp(`^${label}`);
    // With a pointer the label, not the hidden field in it: a click waits until what it clicks stands still.
    if (by === undefined) await dialog.locator('label').filter({ hasText: name }).click();
    else await by.choose(dialog.getByRole('radio', { name }));
    await dialog.getByRole('radio', { name, checked: true }).waitFor({ state: 'attached' });
}
