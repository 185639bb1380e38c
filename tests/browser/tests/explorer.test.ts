// Accounts and transactions of a local network, on pages of the dashboard.

import { beforeAll, expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { accessibilityProblems, layoutProblems } from '../support/checks';
import { ownNetwork } from '../support/ownNetwork';
import { type Proved, prove } from '../support/proofs';

const open = useBrowser();
let proved: Proved;

beforeAll(async () => {
    proved = await prove(ownNetwork(), 'The quick brown fox.');
});

test('the account of a record leads to its transactions, with instructions by name, logs and balances', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.goto(`/explorer/account/${proved.record}`);
    await page.getByText('Execution record').waitFor();
    expect(await page.getByRole('region', { name: 'Content' }).innerText()).toContain(proved.executionId);
    expect(await layoutProblems(page)).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
    // Newest first: the completion, before it the opening.
    await page.getByRole('region', { name: 'Newest transactions' }).getByRole('link').first().click();
    await page.getByText('Complete execution').waitFor();
    await page.getByText('Succeeded').waitFor();
    expect(await page.getByRole('region', { name: 'Log' }).innerText()).toContain('success');
    const moved = await page.getByRole('region', { name: 'What it moved' }).innerText();
    for (const amount of ['0.01 USDC', '+0.0099 USDC', '+0.0001 USDC']) expect(moved).toContain(amount);
    await page.getByText(/^calls \d/).first().click();
    await page.getByText('Transfer checked').first().waitFor();
    expect(await layoutProblems(page)).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.goto('/explorer/account/SysvarEpochSchedu1e111111111111111111111111');
    await page.getByRole('region', { name: 'Newest transactions' }).waitFor();
    await page.goto(`/explorer/tx/${'2'.repeat(88)}`);
    await page.getByText('The node does not have this transaction').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});
