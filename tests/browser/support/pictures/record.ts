// Asks a marketplace for the answers that `world.ts` keeps: after some calls, a refund and two disputes, every page is
// opened once by the wallet that has it.

import type { Browser, Page } from 'playwright-core';

import { serveBuilt } from '../built';
import { transactionsOf } from '../chain';
import { openDispute, raise } from '../disputes';
import { addMockWallet, demoWallets } from '../mockWallet';
import type { Network } from '../network';
import { actAs, call, connect, recordOf } from '../runs';
import { walletDays } from '../walletDays';
import { PICTURED } from './pages';
import { OPTIONS, SHAPES } from './replay';
import { watchRequests } from './settled';
import { ROLES, type Role, type World, isStream, keep, questionOf, writeWorld } from './world';

export async function record(browser: Browser, network: Network): Promise<void> {
    const places = await live(browser, network);
    const wallets = await demoWallets(network);
    const walletOf = (role: Role) => {
        const found = wallets.find(({ label }) => label.startsWith(role));
        if (found === undefined) throw new Error(`The demo has no ${role}.`);
        return { address: found.address, secret: found.secret_key };
    };
    const addresses = Object.fromEntries(ROLES.map((role) => [role, walletOf(role).address])) as World['wallets'];
    const world: World = { now: Date.now(), wallets: addresses, places, answers: {} };
    for (const role of [undefined, ...ROLES]) await visitAll(browser, network, world, role, role && walletOf(role));
    writeWorld(world);
}

async function newPage(browser: Browser, { base_url: baseURL }: Network): Promise<Page> {
    const context = await browser.newContext({ ...OPTIONS, baseURL });
    if (process.env['CRTX_PAGES'] !== undefined) await serveBuilt(context, baseURL, process.env['CRTX_PAGES']);
    return context.newPage();
}

/** What happens on the marketplace before its pictures are taken. */
async function live(browser: Browser, network: Network): Promise<World['places']> {
    const page = await newPage(browser, network);
    await page.goto('/');
    await connect(page);
    const execution = await call(page, network);
    const record = await recordOf(page, execution);
    const refunded = await call(page, network, 'fail');
    const raised = await raise(page, await call(page, network), 'The result is empty.');
    const answered = await openDispute(page, network);
    await actAs(page, 'Caller');
    await call(page, network);
    await page.context().close();
    const agent = network.agents[0]?.agent_id ?? '';
    const { creator } = (await (await fetch(`${network.base_url}/v1/agents/${agent}`)).json()) as { creator: { pubkey: string } };
    const [transaction = ''] = await transactionsOf(record, network.rpc_url);
    return { agent, creator: creator.pubkey, execution, record, refunded, raised, answered, transaction };
}

async function visitAll(browser: Browser, network: Network, world: World, role?: Role, wallet?: { address: string; secret: string }): Promise<void> {
    const page = await newPage(browser, network);
    if (wallet !== undefined) {
        await addMockWallet(page, wallet);
        await page.goto('/executions');
        await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
        await page.getByRole('button', { name: 'Mock wallet' }).click();
        await page.keyboard.press('Escape');
        await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
        await page.getByText('which costs nothing').waitFor({ state: 'detached' });
    }
    // Days of half a year, which no new marketplace has.
    await walletDays(page);
    await page.clock.setFixedTime(world.now);
    const reading: Promise<void>[] = [];
    page.on('response', (response) => {
        const request = response.request();
        const { pathname } = new URL(request.url());
        const isData = ['fetch', 'xhr'].includes(request.resourceType()) && !isStream(request) && pathname !== '/openapi.json';
        if (!isData) return;
        const type = response.headers()['content-type'] ?? 'application/json';
        const keeps = async (): Promise<void> => keep(world, role, questionOf(request), { status: response.status(), type, body: await response.text() });
        reading.push(keeps().catch(() => undefined));
    });
    const settled = watchRequests(page);
    for (const { path, ready } of PICTURED.filter(({ as }) => as === role)) {
        await page.setViewportSize(SHAPES.desktop);
        await page.goto(path(world.places));
        await settled();
        await ready?.(page);
        await settled();
        await page.setViewportSize(SHAPES.phone);
        await settled();
    }
    await Promise.all(reading);
    await page.context().close();
}
