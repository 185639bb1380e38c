// The overview of a wallet and its monthly statement: what needs the owner, by the keyboard, with names of strangers, on
// paper and as a file.

import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { accessibilityProblems, layoutProblems } from '../support/checks';
import { HOSTILE, harm } from '../support/hostile';
import { connectNew, signIn } from '../support/newWallet';
import { ownNetwork } from '../support/ownNetwork';
import { call, connect } from '../support/runs';
import { walletDays } from '../support/walletDays';

const open = useBrowser();
const network = ownNetwork();

test.each(['phone', 'desktop'] as const)('what needs a wallet is one line with one way to act, also with hostile names (%s)', async (width) => {
    const { page, context, problems } = await open({ width });
    const text = Object.values(HOSTILE).join(' ');
    await walletDays(page, text);
    await page.route('**/v1/executions?limit=5*', async (route) => {
        const one = { execution_id: '806e1eba-133b-4100-9a5e-ddbe7c578906', agent_id: '11111111111111111111111111111111', agent_name: text };
        const times = { initiated_at: new Date().toISOString(), completed_at: null, cost_usdc: 0.05, status: 'running', on_chain_record: '' };
        await route.fulfill({ json: { executions: [{ ...one, ...times }], total: 1, limit: 5, offset: 0, next_cursor: null } });
    });
    await page.goto('/overview');
    await connectNew(page);
    // What React Aria announced of the button that sent the money stays for seven seconds without its button.
    await page.reload();
    await signIn(page);
    const needs = page.getByRole('region', { name: 'What needs you' });
    await needs.getByText('12 of 32 calls failed in the last 24 hours').waitFor();
    await page.getByRole('table', { name: /^Last calls/ }).waitFor();
    expect(await needs.getByRole('listitem').count()).toBe(1);
    expect(await harm(page)).toEqual([]);
    expect(await layoutProblems(page)).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
    await needs.getByRole('link', { name: /^See failures/ }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/creator\/agents\/1{32}$/);
    expect(problems).toEqual([]);
    await context.close();
});

test('the overview follows the wallet, and asks at most four times in an idle minute', async () => {
    const { page, context, problems } = await open();
    await page.goto('/overview');
    await connect(page);
    await call(page, network);
    await page.goto('/overview');
    await page.getByRole('table', { name: /^Last calls/ }).waitFor();
    await page.getByRole('slider', { name: /^Spend and earnings/ }).waitFor();
    // What the call leads to is read: its events, and once more what a creator sees. The stream of events stays open.
    await page.waitForTimeout(6_000);
    const asked: string[] = [];
    page.on('request', (request) => {
        const { pathname } = new URL(request.url());
        // The header asks for the state of the index on every page.
        if (pathname !== '/v1/status') asked.push(`${request.method()} ${pathname}`);
    });
    await page.waitForTimeout(30_000);
    expect(asked.length, asked.join(', ')).toBeLessThanOrEqual(2);
    expect(problems).toEqual([]);
    await context.close();
});

test('a statement adds up, is printed without its controls, and is saved as a file', async () => {
    const { page, context, problems } = await open();
    await page.goto('/statement');
    await connect(page);
    await call(page, network);
    await page.goto('/statement');
    const keys = page.getByRole('table', { name: /by API key/ });
    await keys.getByText('Wallet itself').waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as CSV' }).click()]);
    const rows = readFileSync(await download.path(), 'utf8').trim().split('\r\n').map((row) => row.split(','));
    const paid = (group: string): number =>
        rows.filter(([kind]) => kind === group).reduce((sum, row) => sum + Math.round(Number(row[7]) * 1e6), 0);
    expect(paid('total')).toBeGreaterThan(0);
    expect([paid('agent'), paid('key')]).toEqual([paid('total'), paid('total')]);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false);
    expect(await page.getByRole('banner').isVisible()).toBe(false);
    expect(await keys.isVisible()).toBe(true);
    await page.emulateMedia({ media: 'screen' });
    await page.getByLabel('Role').selectOption({ label: 'Seller' });
    await page.waitForURL(/role=creator/);
    await page.getByText('Received', { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});
