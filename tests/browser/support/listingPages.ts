// The pages of creators that list, change and test agents, for the pictures. Nothing is signed: the drafts and changes
// stay in the browser.

import type { Page } from 'playwright-core';

import { FIELDS, connectAs, openDraft } from './listing';
import { signIn } from './newWallet';
import type { PageCase } from './pages';

/** A step of a draft that has everything. */
const step = (name: string, change: Partial<typeof FIELDS>, ready: (page: Page) => Promise<unknown>): PageCase => ({
    name: `creator-new-${name}`,
    path: () => '/',
    ready: async (page) => {
        const wallet = await connectAs(page, 'Creator');
        await openDraft(page, wallet, name, change);
        await page.getByRole('navigation', { name: 'Steps' }).waitFor();
        await ready(page);
    },
});

const SCHEMA = JSON.stringify(
    {
        type: 'object',
        required: ['language'],
        properties: {
            language: { type: 'string', enum: ['en', 'de', 'fr'], description: 'Language of the answer.' },
            max_words: { type: 'integer', minimum: 1, description: 'Longest answer, in words.' },
        },
    },
    null,
    2,
);

const ownPage = (name: string, ready: (page: Page) => Promise<unknown>): Pick<PageCase, 'path' | 'ready'> => ({
    path: () => '/',
    ready: async (page, network) => {
        await connectAs(page, 'Creator');
        await page.goto(`/creator/agents/${network.agents[0]?.agent_id}/${name}`);
        await ready(page);
    },
});

export const LISTING_PAGES: readonly PageCase[] = [
    {
        name: 'creator-new-not-connected',
        path: () => '/creator/new',
        ready: (page) => page.getByRole('main').getByText('Connect a wallet').waitFor(),
    },
    step('details', { name: '', tagline: 'x'.repeat(201), tags: ['data', 'browsertest'] }, async (page) => {
        await page.getByRole('button', { name: 'Next' }).click();
        await page.getByText('Give the agent a name.').waitFor();
    }),
    step('schemas', { inputSchema: SCHEMA, outputSchema: '{"type": "text"}' }, (page) => page.getByLabel(/^max_words/).waitFor()),
    step('price', {}, (page) => page.getByRole('row', { name: /this price/ }).waitFor()),
    step('service', { resultKey: '' }, async (page) => {
        await page.getByRole('button', { name: 'Make a new key' }).click();
        await page.getByRole('button', { name: 'Save the file again' }).waitFor();
    }),
    step('test', { endpoint: 'http://127.0.0.1:9/execute' }, async (page) => {
        await signIn(page);
        await page.getByLabel('A task that your agent completes').fill('One two three.');
        await page.getByRole('button', { name: 'Test the endpoint' }).click();
        await page.getByText(/^Your service fails/).waitFor();
    }),
    step('review', {}, async (page) => {
        await signIn(page);
        await page.getByRole('button', { name: /^Lock / }).waitFor();
    }),
    {
        name: 'creator-edit',
        ...ownPage('edit', async (page) => {
            await page.getByText('Nothing is changed yet.').waitFor();
            await page.getByLabel('Tagline').fill('Counts words in every alphabet.');
            await page.getByLabel('Price of one call').fill('0.5');
            await page.getByRole('main').getByRole('button', { name: 'Sign in' }).waitFor();
        }),
    },
    {
        name: 'creator-test',
        ...ownPage('test', async (page) => {
            await signIn(page);
            await page.getByLabel('A task that your agent completes').fill('The quick brown fox.');
            await page.getByRole('button', { name: 'Test the endpoint' }).click();
            await page.getByText(/^Your service (passes|fails)/).waitFor();
        }),
    },
];
