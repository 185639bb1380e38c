// The pages of a caller's executions and keys, for `pages.ts`.

import type { Page } from 'playwright-core';

import { fillKey, takeKey } from './keys';
import type { Network } from './network';
import { connectNew, signIn } from './newWallet';
import { call, connect, openForm, pay } from './runs';
import type { PageCase } from './pages';
import { walletDays } from './walletDays';

export const CALLER_PAGES: readonly PageCase[] = [
    {
        name: 'executions',
        path: () => '/',
        ready: async (page, network) => {
            await connect(page);
            await call(page, network);
            await call(page, network, 'fail');
            await page.goto('/executions');
            await page.getByText('Failed', { exact: true }).last().waitFor();
            await page.getByRole('button', { name: 'Save as CSV' }).waitFor();
        },
    },
    {
        name: 'executions-none',
        path: () => '/executions',
        ready: async (page) => {
            await connectNew(page);
            // What React Aria announced of the button that sent the money stays for seven seconds without its button.
            await page.reload();
            await signIn(page);
            await page.getByText('You have not called an agent yet').waitFor();
        },
    },
    {
        name: 'executions-not-connected',
        path: () => '/executions',
        ready: (page) => page.getByText('shown to the wallet that they belong to').waitFor(),
    },
    {
        name: 'overview',
        path: () => '/',
        ready: async (page, network) => {
            await walletDays(page);
            await connect(page);
            await call(page, network);
            await page.goto('/overview');
            await page.getByRole('slider', { name: /^Spend and earnings/ }).waitFor();
            await page.getByRole('table', { name: /^Last calls/ }).waitFor();
            await page.getByText('failed in the last 24 hours').waitFor();
        },
    },
    {
        name: 'overview-none',
        path: () => '/overview',
        ready: async (page) => {
            await connectNew(page);
            // What React Aria announced of the button that sent the money stays for seven seconds without its button.
            await page.reload();
            await signIn(page);
            await page.getByText('Nothing needs you now').waitFor();
            await page.getByText('You have not called an agent yet').waitFor();
        },
    },
    {
        name: 'statement',
        path: () => '/',
        ready: async (page, network) => {
            await connect(page);
            await call(page, network);
            await page.goto('/statement');
            await page.getByRole('table', { name: /by API key/ }).waitFor();
        },
    },
    {
        name: 'execution-own-ending',
        path: () => '/',
        ready: async (page, network) => {
            await openUnserved(page, network);
            await page.getByText('If the service does not end it').click();
            await page.getByLabel('Answer of the creator (JSON)').waitFor();
        },
    },
    {
        name: 'execution-expired',
        path: () => '/',
        ready: async (page, network) => {
            await openUnserved(page, network);
            await page.clock.setFixedTime(Date.now() + 3_600_000);
            await page.reload();
            await page.getByText('Nobody has settled this call in time').waitFor();
        },
    },
    {
        name: 'keys',
        path: () => '/keys',
        ready: async (page) => {
            await connect(page);
            await signIn(page);
            await page.getByRole('meter').first().waitFor();
            await page.getByText('Approved for your keys').waitFor();
        },
    },
    {
        name: 'keys-limits',
        path: () => '/keys',
        ready: async (page) => {
            await connect(page);
            await signIn(page);
            await page.getByRole('button', { name: 'Change the limits' }).first().click();
            await page.getByLabel('Limit per call (USDC)').fill('0.5');
            await page.getByText('What will happen').waitFor();
        },
    },
    {
        name: 'keys-revoke',
        path: () => '/keys',
        ready: async (page) => {
            await connect(page);
            await signIn(page);
            await page.getByRole('button', { name: 'Revoke' }).first().click();
            await page.getByRole('button', { name: 'Revoke for good' }).waitFor();
            await page.getByRole('region', { name: 'Approval for all keys together' }).getByRole('button', { name: 'Change' }).click();
        },
    },
    {
        name: 'keys-none',
        path: () => '/keys',
        ready: async (page) => {
            await connectNew(page);
            // What React Aria announced of the button that sent the money stays for seven seconds without its button.
            await page.reload();
            await signIn(page);
            await page.getByText('No key yet').waitFor();
        },
    },
    {
        name: 'webhooks',
        path: () => '/webhooks',
        ready: async (page) => {
            await connectNew(page);
            // What React Aria announced of the button that sent the money stays for seven seconds without its button.
            await page.reload();
            await signIn(page);
            await page.getByLabel('URL').fill('http://127.0.0.1:9/crtx');
            await page.getByRole('button', { name: 'Create the webhook' }).click();
            await page.getByText('Save this secret now').waitFor();
            await page.getByRole('button', { name: 'Deliveries' }).click();
            await page.getByText('No event has happened').waitFor();
        },
    },
    {
        name: 'key-new',
        path: () => '/keys/new',
        ready: async (page) => {
            await connect(page);
            await signIn(page);
            await fillKey(page, { name: 'nightly reports' });
            await page.getByLabel('Only agents that I choose').check();
            await page.getByLabel('Add an agent').fill('text');
            await page.getByRole('list').getByRole('button', { name: /^text-stats|USDC$/ }).first().waitFor();
        },
    },
    {
        name: 'key-new-problems',
        path: () => '/keys/new',
        ready: async (page) => {
            await connect(page);
            await signIn(page);
            await page.getByRole('button', { name: 'Make the key' }).click();
            await page.getByText('Write a name.').waitFor();
        },
    },
    {
        name: 'key-new-shown',
        path: () => '/keys/new',
        ready: async (page) => {
            await connect(page);
            await signIn(page);
            await fillKey(page, { name: 'nightly reports' });
            await takeKey(page);
            await page.getByText('It costs').waitFor();
        },
    },
];

/** A paid call of which the service has not heard. */
async function openUnserved(page: Page, network: Network): Promise<void> {
    await page.route('**/dispatch', (route) => route.fulfill({ status: 400, json: { error: { code: 'invalid_request', message: 'not today' } } }));
    await connect(page);
    await openForm(page, network, 0);
    await page.getByLabel('What should the agent do?').fill('The quick brown fox');
    await pay(page);
    await page.getByText('The service did not take the request').waitFor();
    await page.getByText('If the service does not end it').waitFor();
}
