// The pages of a creator, in the states that look different.

import type { Page } from 'playwright-core';

import { type Creator, newCreator } from './creators';
import { type MockOptions, addMockWallet } from './mockWallet';
import type { Network } from './network';
import type { PageCase } from './pages';
import { signIn } from './newWallet';
import { actAs, connect, follow } from './runs';

/** Opens a page with a creator's own wallet connected. */
export async function openAs(page: Page, { address, secret }: Pick<Creator, 'address' | 'secret'>, path: string, options: MockOptions = {}): Promise<void> {
    await addMockWallet(page, { address, secret }, options);
    await page.goto(path);
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Mock wallet' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('banner').getByRole('button', { name: new RegExp(`${address.slice(0, 4)}…`) }).waitFor();
}

export const managePath = (agentId: string, tab?: string): string => `/creator/agents/${agentId}${tab === undefined ? '' : `?tab=${tab}`}`;

/** The same for every width and theme. */
const once = <T>(make: (network: Network) => Promise<T>): ((network: Network) => Promise<T>) => {
    let made: Promise<T> | undefined;
    return (network) => (made ??= make(network));
};

/** An agent that is paused, one that is delisted with its collateral, and one without, of the same creator. */
const leaver = once(async (network) => {
    const creator = await newCreator(network);
    const paused = await creator.list('paused-agent', { isSilent: true });
    const delisted = await creator.list('delisted-agent', { isSilent: true });
    const empty = await creator.list('empty-agent', { isSilent: true });
    await creator.crtx(['agent', 'pause', paused.agentId, '--yes']);
    for (const { agentId } of [delisted, empty]) await creator.crtx(['agent', 'delist', agentId, '--yes']);
    await creator.crtx(['agent', 'withdraw', empty.agentId, '--yes']);
    creator.end();
    return { creator, paused, delisted, empty };
});

const demoAgent = async (page: Page, { agents }: Network): Promise<void> => {
    await connect(page);
    await actAs(page, 'Creator');
    await follow(page, 'My agents');
    await page.getByRole('table', { name: 'My agents' }).getByRole('link', { name: agents[0]?.name ?? '' }).click();
    await page.getByRole('tab', { name: 'Leave' }).waitFor();
    await page.getByRole('region', { name: 'Listing' }).getByText(/at risk/).waitFor();
};

/** Opens a tab of the page that manages an agent. */
export const openTab = (page: Page, name: string): Promise<void> => page.getByRole('tab', { name, exact: true }).click();

/** Each part in the state with the most to read, one after the other: a picture shows one tab. */
const demoTab = (name: string, tab: string, ready: (page: Page) => Promise<unknown>): PageCase => ({
    name: `own-agent-${name}`,
    path: () => '/',
    ready: async (page, network) => {
        await demoAgent(page, network);
        await openTab(page, tab);
        await ready(page);
    },
});

const MS_PER_DAY = 86_400_000;

type EarningsDay = {
    day: string;
    completed_executions: number;
    failed_executions: number;
    disputed_executions: number;
    earned_usdc: number;
    fees_usdc: number;
};

/** A month as a creator has it after a while: more and less, and days without anything. */
const earnings = (): EarningsDay[] =>
    [29, 26, 25, 21, 20, 19, 16, 14, 13, 12, 11, 8, 6, 5, 3, 2, 1, 0].map((age) => {
        const completed = 12 + ((age * 37) % 90);
        return {
            day: new Date(Date.now() - age * MS_PER_DAY).toISOString().slice(0, 10),
            completed_executions: completed,
            failed_executions: age % 4,
            disputed_executions: age % 13 === 0 ? 1 : 0,
            earned_usdc: (completed * 495) / 10_000,
            fees_usdc: (completed * 5) / 10_000,
        };
    });

/** The health of an agent after a busy month, in place of what the service says. */
async function withHealth(page: Page): Promise<void> {
    const at = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();
    const id = (number: number): string => `0190a000-0000-7000-8000-${String(number).padStart(12, '0')}`;
    const failures = ['timeout', 'creator_failed', 'invalid_response'].map((code, number) => ({
        execution_id: id(number),
        initiated_at: at(17 + 90 * number),
        code,
        message: number === 1 ? 'The page at the URL has no text.' : '',
        request_id: number === 2 ? null : id(100 + number),
    }));
    const figures = { executions: 412, completed: 405, failed: 7, success_rate: 405 / 412, p50_ms: 840, p95_ms: 6_200 };
    await page.route('**/v1/agents/*/health', (route) => route.fulfill({ json: { window_seconds: 86_400, ...figures, failures } }));
    const groups = earnings().map(({ day, completed_executions: completed, failed_executions: failed, disputed_executions: disputed, earned_usdc, fees_usdc }) => ({
        day,
        completed,
        failed,
        disputed,
        creator_usdc: earned_usdc,
        platform_usdc: fees_usdc,
    }));
    await page.route('**/v1/executions/totals?*', (route) => route.fulfill({ json: { groups } }));
    const states = ['running', 'completed', 'failed', 'completed', 'disputed', 'completed'] as const;
    const executions = states.map((status, number) => ({
        execution_id: id(number),
        agent_id: '',
        agent_name: '',
        status,
        cost_usdc: status === 'failed' ? 0 : 0.01,
        initiated_at: at(2 + 11 * number),
        completed_at: status === 'running' ? null : at(1 + 11 * number),
        on_chain_record: `/proof/${number}`,
        failure: status === 'failed' ? 'timeout' : null,
        creator_amount_usdc: status === 'completed' ? 0.0099 : 0,
        execution_time_ms: status === 'running' ? null : 640 + 90 * number,
    }));
    await page.route('**/v1/executions?*', (route) => route.fulfill({ json: { executions, total: 6, limit: 25, offset: 0, next_cursor: null } }));
}

export const CREATOR_PAGES: readonly PageCase[] = [
    {
        name: 'creator-not-connected',
        path: () => '/creator',
        ready: (page) => page.getByText('The page shows the agents that your wallet listed.').waitFor(),
    },
    {
        name: 'creator',
        path: () => '/',
        ready: async (page) => {
            await connect(page);
            await actAs(page, 'Creator');
            await follow(page, 'My agents');
            await page.getByRole('table', { name: 'My agents' }).getByText(/at risk/).first().waitFor();
            await page.getByLabel('Display name').waitFor();
        },
    },
    {
        name: 'creator-without-agents',
        path: () => '/',
        ready: async (page) => {
            await connect(page);
            await actAs(page, 'New wallet');
            await follow(page, 'My agents');
            await page.getByText('You have not listed an agent yet').waitFor();
            await page.getByLabel('Display name').waitFor();
        },
    },
    {
        name: 'creator-mixed',
        path: () => '/',
        ready: async (page, network) => {
            await openAs(page, (await leaver(network)).creator, '/creator');
            await page.getByText('Collateral that you can withdraw').waitFor();
            await page.getByLabel('Display name').waitFor();
        },
    },
    {
        name: 'creator-earnings',
        path: () => '/',
        ready: async (page) => {
            await page.route('**/v1/wallets/*/history', (route) => route.fulfill({ json: { window_days: 30, days: earnings() } }));
            await connect(page);
            await actAs(page, 'Creator');
            await follow(page, 'My agents');
            await page.getByText('As a table').click();
            await page.getByRole('table', { name: /^Earnings by day/ }).waitFor();
            await page.getByLabel('Display name').waitFor();
        },
    },
    { name: 'own-agent', path: () => '/', ready: demoAgent },
    {
        name: 'own-agent-health',
        path: () => '/',
        ready: async (page, network) => {
            await withHealth(page);
            await demoAgent(page, network);
            await signIn(page);
            await page.getByText('Your service did not answer in time').first().waitFor();
            await openTab(page, 'Calls');
            await page.getByRole('table', { name: 'Calls of this agent, newest first' }).waitFor();
        },
    },
    demoTab('collateral', 'Collateral', async (page) => {
        await page.getByLabel('USDC to add').fill('40');
        await page.getByText('What each price needs').click();
    }),
    demoTab('key', 'Key', async (page) => {
        await page.getByRole('button', { name: 'Make a new key' }).click();
        await page.getByRole('button', { name: 'Save the key file' }).waitFor();
    }),
    demoTab('webhooks', 'Webhooks', async (page) => {
        await signIn(page);
        await page.getByRole('heading', { name: 'New webhook for this agent' }).waitFor();
    }),
    demoTab('leave', 'Leave', async (page) => {
        await page.getByRole('button', { name: 'Delist …' }).click();
        await page.getByRole('button', { name: 'Delist for good' }).click();
        await page.getByText('Tick the box first.').waitFor();
    }),
    {
        name: 'own-agent-paused',
        path: () => '/',
        ready: async (page, network) => {
            const { creator, paused } = await leaver(network);
            await openAs(page, creator, managePath(paused.agentId));
            await page.getByRole('button', { name: 'Resume the agent' }).waitFor();
        },
    },
    {
        name: 'own-agent-delisted',
        path: () => '/',
        ready: async (page, network) => {
            const { creator, delisted } = await leaver(network);
            await openAs(page, creator, managePath(delisted.agentId));
            await page.getByRole('button', { name: /^Withdraw/ }).waitFor();
        },
    },
    {
        name: 'own-agent-withdrawn',
        path: () => '/',
        ready: async (page, network) => {
            const { creator, empty } = await leaver(network);
            await openAs(page, creator, managePath(empty.agentId));
            await page.getByRole('button', { name: 'Close the accounts' }).waitFor();
        },
    },
    {
        name: 'own-agent-of-another',
        path: () => '/',
        ready: async (page, { agents }) => {
            await connect(page);
            await page.goto(managePath(agents[0]?.agent_id ?? ''));
            await page.getByText('belongs to another wallet').waitFor();
        },
    },
];
