// The pages of the network and of its admin, for `pages.ts`.

import { troubledNetwork } from './market';
import type { PageCase } from './pages';
import { prove } from './proofs';
import { actAs, showLink } from './runs';

export const MARKET_PAGES: readonly PageCase[] = [
    {
        name: 'proof',
        path: () => '/',
        ready: async (page, network) => {
            const { record } = await prove(network, 'The quick brown fox.');
            await page.goto(`/proof/${record}`);
            await page.getByText('The creator signed this result').waitFor();
            await page.getByText('5 checks').first().click();
        },
    },
    {
        name: 'proof-of-a-linked-node',
        path: () => '/proof/SysvarC1ock11111111111111111111111111111111?node=https://node.example',
        ready: (page) => page.getByText('This node knows no such record').waitFor(),
    },
    {
        name: 'explorer-transaction',
        path: () => '/',
        ready: async (page, network) => {
            const { record } = await prove(network, 'The quick brown fox.');
            await page.goto(`/explorer/account/${record}`);
            await page.getByRole('region', { name: 'Newest transactions' }).getByRole('link').first().click();
            await page.getByText('Complete execution').waitFor();
        },
    },
    {
        name: 'public-creator',
        path: ({ agents }) => `/agents/${agents[0]?.agent_id}`,
        ready: async (page) => {
            await page.getByRole('link', { name: 'Record and agents of this creator' }).click();
            await page.getByRole('table', { name: 'Agents of this creator' }).waitFor();
            await page.getByText('Lists agents since').waitFor();
        },
    },
    {
        name: 'network',
        path: () => '/network',
        ready: async (page) => {
            await page.getByRole('button', { name: 'Check the program in this browser' }).click();
            await page.getByText('The published code').waitFor();
        },
    },
    {
        name: 'network-behind',
        path: () => '/',
        ready: async (page) => {
            await troubledNetwork(page);
            await page.goto('/network');
            await page.getByRole('button', { name: 'Check the program in this browser' }).waitFor();
            await page.getByText('The node sends no events').waitFor();
        },
    },
    {
        name: 'menu',
        path: () => '/network',
        ready: async (page) => {
            await page.getByRole('button', { name: 'Check the program in this browser' }).waitFor();
            await showLink(page, 'Network');
        },
    },
    {
        name: 'admin',
        path: () => '/admin',
        ready: async (page) => {
            await actAs(page, 'Admin');
            await page.getByRole('link', { name: /^Who is this/ }).first().click();
            await page.getByRole('button', { name: /^Verify this creator/ }).waitFor();
            await page.getByLabel('Fee, percent of a payment').fill('1.5');
            await page.getByLabel('Tier 2: for a price up to, USDC').fill('0.05');
            await page.getByLabel('Tier 2: for a price up to, USDC').blur();
        },
    },
    {
        name: 'admin-question',
        path: () => '/admin',
        ready: async (page) => {
            await actAs(page, 'Admin');
            await page.getByRole('button', { name: /^Stop new calls/ }).click();
            await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).waitFor();
        },
    },
    {
        name: 'admin-for-guardian',
        path: () => '/admin',
        ready: async (page) => {
            await actAs(page, 'Guardian');
            await page.getByRole('button', { name: /^Stop new listings/ }).waitFor();
            await page.getByLabel('Address of the agent').waitFor();
        },
    },
    {
        name: 'agent-for-guardian',
        path: ({ agents }) => `/agents/${agents[0]?.agent_id}`,
        ready: async (page) => {
            await actAs(page, 'Guardian');
            await page.getByRole('button', { name: /^Suspend this agent/ }).waitFor();
        },
    },
    {
        name: 'admin-for-others',
        path: () => '/admin',
        ready: async (page) => {
            await actAs(page, 'Caller');
            await page.getByText('This wallet is neither the admin nor the guardian').waitFor();
        },
    },
];
