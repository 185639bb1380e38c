// The reference of the HTTP API: folded, unfolded, and with an answer.

import type { Page } from 'playwright-core';

import type { PageCase } from './pages';

/** One operation of the page. */
export const operationOf = (page: Page, anchor: string) => page.locator(`[id="${anchor}"]`);

export const keyField = (page: Page) => page.getByLabel('API key', { exact: true });

export const DOCS_PAGES: readonly PageCase[] = [
    ...['buy', 'sell', 'verify', 'limits', 'errors'].map((document) => ({
        name: `docs-${document}`,
        path: () => `/docs/${document}`,
        ready: (page: Page) => page.getByRole('article').getByRole('heading', { level: 2 }).first().waitFor(),
    })),
    {
        name: 'docs',
        path: () => '/docs/api',
        ready: (page) => page.getByRole('heading', { level: 3 }).first().waitFor(),
    },
    {
        name: 'docs-paid-call',
        path: () => '/docs/api#post-v1-agents-agent_id-execute',
        ready: async (page, { api_key: key }) => {
            await keyField(page).fill(key);
            await page.getByText('Spends money').waitFor();
            await page.getByText('Body of 4').click();
        },
    },
    {
        name: 'docs-answer',
        path: () => '/docs/api#get-v1-executions',
        ready: async (page, { api_key: key }) => {
            await keyField(page).fill(key);
            await page.getByText('Credentials', { exact: true }).click();
            await operationOf(page, 'get-v1-executions').getByRole('button', { name: 'Send' }).click();
            await page.getByText('200 OK').waitFor();
        },
    },
];
