// The accounts of the local test wallet, chosen in its dialog as a user does.

import type { Page } from 'playwright-core';

/** Chooses an account, such as `Admin`, in the open dialog, and waits until it is the one in use. */
export async function chooseAccount(page: Page, label: string): Promise<void> {
    const dialog = page.getByRole('dialog', { name: 'Wallet' });
    const name = new RegExp(`^${label}`);
    // The label, not the hidden field in it: a click waits until what it clicks stands still.
    await dialog.locator('label').filter({ hasText: name }).click();
    await dialog.getByRole('radio', { name, checked: true }).waitFor({ state: 'attached' });
}
