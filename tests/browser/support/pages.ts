// Every page that must look right and be accessible in each width and theme. A feature adds its pages here.

import type { Page } from 'playwright-core';

import { CALLER_PAGES } from './callerPages';
import { CREATOR_PAGES } from './creatorPages';
import { DISPUTE_PAGES } from './disputePages';
import { DOCS_PAGES } from './docsPages';
import { LISTING_PAGES } from './listingPages';
import { MARKET_PAGES } from './marketPages';
import type { Network } from './network';
import { call, connect, openForm, payButton, verify } from './runs';

export type PageCase = {
    /** Of the picture. */
    readonly name: string;
    readonly path: (network: Network) => string;
    /** Brings the page into the state to look at; at least waits until it is complete. */
    readonly ready: (page: Page, network: Network) => Promise<unknown>;
};

export const PAGES: readonly PageCase[] = [
    {
        name: 'agents',
        path: () => '/',
        ready: (page, { agents }) => page.getByRole('link', { name: agents[0]?.name ?? '' }).waitFor(),
    },
    {
        name: 'agents-none-found',
        path: () => '/?q=nothingofthatname',
        ready: (page) => page.getByText('No agent').waitFor(),
    },
    {
        name: 'find',
        path: () => '/',
        ready: async (page, { agents }) => {
            await page.getByRole('banner').getByRole('button', { name: /^Find/ }).click();
            await page.getByRole('dialog').getByRole('searchbox').fill(agents[0]?.name ?? '');
            await page.getByRole('menuitem', { name: agents[0]?.name ?? '' }).waitFor();
        },
    },
    {
        name: 'agent',
        path: ({ agents }) => `/agents/${agents[0]?.agent_id}`,
        ready: (page, { agents }) => page.getByRole('heading', { level: 1, name: agents[0]?.name ?? '' }).waitFor(),
    },
    {
        name: 'agent-unknown',
        path: () => '/agents/11111111111111111111111111111111',
        ready: (page) => page.getByRole('heading', { level: 1 }).waitFor(),
    },
    {
        name: 'not-found',
        path: () => '/no/such/page',
        ready: (page) => page.getByRole('heading', { name: 'There is no such page' }).waitFor(),
    },
    {
        name: 'wallet-choice',
        path: () => '/',
        ready: async (page) => {
            await page.getByRole('button', { name: 'Connect' }).click();
            await page.getByRole('button', { name: 'Local test wallet' }).waitFor();
        },
    },
    {
        name: 'wallet-connected',
        path: () => '/',
        ready: async (page) => {
            await page.getByRole('button', { name: 'Connect' }).click();
            await page.getByRole('button', { name: 'Local test wallet' }).click();
            await page.getByRole('button', { name: /Get 1.000 USDC/ }).waitFor();
            await page.getByText(/^\d+ SOL|USDC$/).first().waitFor();
        },
    },
    {
        name: 'run',
        path: ({ agents }) => `/agents/${agents[0]?.agent_id}/run`,
        ready: (page) => page.getByText('The agent works.').waitFor(),
    },
    {
        name: 'run-problems',
        path: () => '/',
        ready: async (page, network) => {
            await connect(page);
            await openForm(page, network, 0);
            await page.getByLabel(/^top_words/).fill('51');
            await payButton(page).click();
            await page.getByRole('alert').getByText(/top_words/).waitFor();
        },
    },
    {
        name: 'execution',
        path: () => '/',
        ready: async (page, network) => {
            await connect(page);
            await call(page, network);
        },
    },
    {
        name: 'execution-verified',
        path: () => '/',
        ready: async (page, network) => {
            await connect(page);
            await call(page, network);
            await verify(page);
            await page.getByText('What you trust').click();
        },
    },
    {
        name: 'execution-refunded',
        path: () => '/',
        ready: async (page, network) => {
            await connect(page);
            await call(page, network, 'fail');
            await page.getByText('went from the escrow back').waitFor();
        },
    },
    {
        name: 'execution-not-connected',
        path: () => '/executions/806e1eba-133b-4100-9a5e-ddbe7c578906',
        ready: (page) => page.getByText('Only the wallet that paid for an execution can see it').waitFor(),
    },
    ...CALLER_PAGES,
    ...CREATOR_PAGES,
    ...LISTING_PAGES,
    ...DISPUTE_PAGES,
    ...MARKET_PAGES,
    ...DOCS_PAGES,
];
