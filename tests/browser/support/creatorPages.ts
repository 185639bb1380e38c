// The pages of a creator, in the states that look different.

import type { Page } from 'playwright-core';

import { type Creator, newCreator } from './creators';
import { type MockOptions, addMockWallet } from './mockWallet';
import type { Network } from './network';
import type { PageCase } from './pages';
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

export const managePath = (agentId: string): string => `/creator/agents/${agentId}`;

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
    await page.getByRole('heading', { name: 'Leave the market' }).waitFor();
    await page.getByRole('complementary').getByText(/at risk/).waitFor();
};

const MS_PER_DAY = 86_400_000;

/** A month as a creator has it after a while: more and less, and days without anything. */
const earnings = (): object[] =>
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

export const CREATOR_PAGES: readonly PageCase[] = [
    {
        name: 'creator-not-connected',
        path: () => '/creator',
        ready: (page) => page.getByText('Your agents are the ones that your wallet has listed.').waitFor(),
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
        name: 'own-agent-forms',
        path: () => '/',
        ready: async (page, network) => {
            await demoAgent(page, network);
            await page.getByLabel('USDC to add').fill('40');
            await page.getByText('What each price needs').click();
            await page.getByRole('button', { name: 'Make a new key' }).click();
            await page.getByRole('button', { name: 'Save the key file' }).waitFor();
            await page.getByRole('button', { name: 'Delist …' }).click();
            await page.getByRole('button', { name: 'Delist for good' }).click();
            await page.getByText('Say first').waitFor();
        },
    },
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
