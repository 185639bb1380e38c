// The pages of which pictures are compared. Everything that a page shows is in the kept answers, so a step here only opens
// and fills in what the page has.

import type { Page } from 'playwright-core';

import type { Role } from './world';

export type Pictured = {
    /** Of the pictures. */
    readonly name: string;
    readonly path: (places: Record<string, string>) => string;
    /** Whose wallet is connected and signed in. */
    readonly as?: Role;
    readonly ready?: (page: Page) => Promise<unknown>;
};

const at = (path: string) => () => path;
const button = (page: Page, name: string | RegExp) => page.getByRole('main').getByRole('button', { name }).first();
const tab = (name: string, word: string): Pictured => ({
    name: `own-agent-${name}`,
    path: ({ agent }) => `/creator/agents/${agent}?tab=${word}`,
    as: 'Creator',
});

export const PICTURED: readonly Pictured[] = [
    { name: 'agents', path: at('/') },
    { name: 'agents-table', path: at('/?view=table'), as: 'Caller' },
    {
        name: 'find',
        path: at('/network'),
        ready: async (page) => {
            await page.keyboard.press('Control+k');
            await page.getByRole('dialog').getByRole('searchbox').fill('text');
            // Pages match at once, agents when the service has answered.
            await page.getByRole('menuitem', { name: 'text-stats' }).waitFor();
        },
    },
    { name: 'agent', path: ({ agent }) => `/agents/${agent}` },
    { name: 'agent-connected', path: ({ agent }) => `/agents/${agent}`, as: 'Caller' },
    { name: 'agent-unknown', path: at('/agents/11111111111111111111111111111111') },
    { name: 'not-found', path: at('/no/such/page') },
    { name: 'public-creator', path: ({ creator }) => `/creators/${creator}` },
    { name: 'network', path: at('/network') },
    { name: 'explorer-account', path: ({ record }) => `/explorer/account/${record}` },
    { name: 'explorer-transaction', path: ({ transaction }) => `/explorer/tx/${transaction}` },
    { name: 'proof', path: ({ record }) => `/proof/${record}` },
    ...['buy', 'sell', 'verify', 'limits', 'errors'].map((name) => ({ name: `docs-${name}`, path: at(`/docs/${name}`) })),
    { name: 'docs-api', path: at('/docs/api') },
    { name: 'overview-not-connected', path: at('/overview') },
    { name: 'overview', path: at('/overview'), as: 'Caller' },
    { name: 'executions', path: at('/executions'), as: 'Caller' },
    { name: 'execution', path: ({ execution }) => `/executions/${execution}`, as: 'Caller' },
    { name: 'execution-refunded', path: ({ refunded }) => `/executions/${refunded}`, as: 'Caller' },
    { name: 'statement', path: at('/statement'), as: 'Caller' },
    { name: 'keys', path: at('/keys'), as: 'Caller' },
    { name: 'key-new', path: at('/keys/new'), as: 'Caller' },
    { name: 'webhooks', path: at('/webhooks'), as: 'Caller' },
    { name: 'disputes', path: at('/disputes'), as: 'Caller' },
    { name: 'dispute-new', path: ({ execution }) => `/disputes/new?execution=${execution}`, as: 'Caller' },
    { name: 'dispute', path: ({ answered }) => `/disputes/${answered}`, as: 'Caller' },
    { name: 'dispute-answer', path: ({ raised }) => `/disputes/${raised}`, as: 'Creator' },
    {
        name: 'dispute-decide',
        path: ({ answered }) => `/disputes/${answered}`,
        as: 'Resolver',
        ready: async (page) => {
            await page.getByRole('main').getByRole('radio').first().check();
            await page.getByRole('main').getByRole('textbox').first().fill('0.015');
        },
    },
    { name: 'disputes-resolver', path: at('/disputes?role=resolver&status=open'), as: 'Resolver' },
    { name: 'overview-creator', path: at('/overview'), as: 'Creator' },
    { name: 'creator', path: at('/creator'), as: 'Creator' },
    { name: 'creator-new', path: at('/creator/new'), as: 'Creator' },
    { name: 'own-agent', path: ({ agent }) => `/creator/agents/${agent}`, as: 'Creator' },
    tab('collateral', 'collateral'),
    tab('key', 'key'),
    tab('webhooks', 'webhooks'),
    tab('leave', 'leave'),
    { name: 'own-agent-edit', path: ({ agent }) => `/creator/agents/${agent}/edit`, as: 'Creator' },
    { name: 'own-agent-test', path: ({ agent }) => `/creator/agents/${agent}/test`, as: 'Creator' },
    { name: 'executions-creator', path: at('/executions?role=creator'), as: 'Creator' },
    { name: 'admin', path: at('/admin'), as: 'Admin' },
    { name: 'admin-question', path: at('/admin'), as: 'Admin', ready: (page) => button(page, /…$/).click() },
    { name: 'agent-admin', path: ({ agent }) => `/agents/${agent}`, as: 'Admin' },
];
