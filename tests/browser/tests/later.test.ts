// What comes with time: deadlines, the end of dispute windows, closed records, disputes that nobody decides. On a network
// of its own whose clock is moved, and the clock of the browser with it.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { rpc, transactionsOf, usdcOn } from '../support/chain';
import { managePath, openAs } from '../support/creatorPages';
import { useCreators } from '../support/creators';
import { raise } from '../support/disputes';
import { travel, until } from '../support/market';
import { type Network, startNetwork } from '../support/network';
import { call, connect, follow, openWithoutService, recordOf, verify } from '../support/runs';

let network: Network;
let end: () => Promise<void>;

beforeAll(async () => {
    ({ network, end } = await startNetwork());
});
afterAll(() => end?.());

const open = useBrowser(() => network);
const newCreator = useCreators();
const SECONDS_PER_DAY = 86_400;
const TARGET_PRICE = 20_000n;
const START = 1_000_000_000n;
const COLLATERAL = 10_000_000n;
const BOND = 100_000n;

/** Lets so much time pass for the chain and for these pages, as seen from the real time. */
async function wait(seconds: number, ...pages: Page[]): Promise<void> {
    await travel(network, seconds / SECONDS_PER_DAY);
    const health = async (): Promise<string> => ((await (await fetch(`${network.base_url}/v1/status`)).json()) as { status: string }).status;
    await until(health, (status) => status === 'live');
    for (const page of pages) {
        await page.clock.setFixedTime(Date.now() + seconds * 1_000);
        await page.reload();
    }
}

const exists = async (address: string): Promise<boolean> =>
    (await rpc<{ value: object | null }>('getAccountInfo', [address, { encoding: 'base64', commitment: 'confirmed' }], network.rpc_url)).value !== null;

/** The wallet that signed a transaction and paid its network fee. */
async function payerOf(signature: string): Promise<string | undefined> {
    type Sent = { transaction: { message: { accountKeys: string[] } } };
    const config = { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
    return (await rpc<Sent>('getTransaction', [signature, config], network.rpc_url)).transaction.message.accountKeys[0];
}

test('after the deadline a caller takes the whole price back, once', async () => {
    const { page, context, problems } = await open();
    const { wallet, id } = await openWithoutService(page, network, 1, 'The quick brown fox');
    expect(await usdcOn(network, wallet)).toBe(START - TARGET_PRICE);
    await page.getByText('If the service does not end it').waitFor();
    const record = await recordOf(page, id);
    // The shortest time-out of the demo, and the two minutes in which a result can still be settled.
    await wait(5 + 120 + 5, page);
    await page.getByText('Nobody has settled this call in time').waitFor();
    // The service compares with its own clock, which is not moved.
    const agent = network.agents[1]?.agent_id ?? '';
    const overdue = { execution_id: id, execution_record: record, agent_id: agent, amount_usdc: 0.02, deadline_at: new Date().toISOString() };
    await page.route(`**/v1/wallets/${wallet}`, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), refundable: [overdue] } });
    });
    await follow(page, 'Executions');
    await page.getByText('You can get 0.02 USDC back').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.getByRole('main').getByRole('listitem').getByRole('link').first().click();
    await page.getByText('Nobody has settled this call in time').waitFor();
    await page.getByRole('button', { name: 'Take the money back' }).click();
    await page.getByText('your money is back').waitFor();
    expect(await usdcOn(network, wallet)).toBe(START);
    const [ending, opening, ...others] = await transactionsOf(record, network.rpc_url);
    expect([await payerOf(ending ?? ''), await payerOf(opening ?? ''), others]).toEqual([wallet, wallet, []]);
    await follow(page, 'Executions');
    await page.getByText('1 execution', { exact: true }).waitFor();
    await page.getByText('USDC back').waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
    await context.close();
});

test('after the dispute window collateral comes back and closed records verify; after 30 days an undecided dispute ends', async () => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('later');
    const paid = await fetch(`${network.base_url}/v1/agents/${agentId}/execute`, {
        method: 'POST',
        headers: { authorization: `Bearer ${network.api_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ task: 'one two three' }),
    });
    expect(paid.status).toBe(200);
    const own = await open();
    await openAs(own.page, creator, managePath(agentId, 'leave'));
    await own.page.getByRole('button', { name: 'Delist …' }).click();
    await own.page.getByRole('checkbox', { name: 'I know that this cannot be undone' }).check();
    await own.page.getByRole('button', { name: 'Delist for good' }).click();
    await own.page.getByText('10 USDC are still locked:').waitFor();

    const { page, context, problems } = await open();
    await page.goto('/');
    await connect(page);
    const disputed = await call(page, network);
    const id = await call(page, network);
    const record = await recordOf(page, id);
    const dispute = await raise(page, disputed, 'Nobody reads this.');
    const demo = (await (await fetch(`${network.base_url}/v1/agents/${network.agents[0]?.agent_id}`)).json()) as { creator: { pubkey: string } };
    const holders = [network.wallet, demo.creator.pubkey, network.agents[0]?.agent_id ?? ''];
    const before = await Promise.all(holders.map((holder) => usdcOn(network, holder)));

    await wait(8 * SECONDS_PER_DAY, own.page, page);
    const held = await usdcOn(network, creator.address);
    await own.page.getByRole('button', { name: 'Withdraw 10 USDC' }).click();
    await own.page.getByText('10 USDC are back in your wallet.').waitFor();
    expect((await usdcOn(network, creator.address)) - held).toBe(COLLATERAL);

    // The service closes records whose window is over; their last bytes are in the transaction that closed them.
    await until(() => exists(record), (there) => !there);
    await page.goto(`/executions/${id}`);
    expect(await verify(page)).toMatchObject({ verdict: expect.stringMatching(/^Verified/), passed: 16, failed: [] });
    await page.getByText('which closed it').first().waitFor();
    await page.goto(`/disputes/${dispute}`);
    await page.getByRole('region', { name: 'Facts' }).getByText('Open', { exact: true }).waitFor();

    await wait(31 * SECONDS_PER_DAY, page);
    await page.getByRole('region', { name: 'Facts' }).getByText('Expired', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: /^(Sign:|Send the answer|End the dispute)/ }).count()).toBe(0);
    // Nothing but the bond moves: from the escrow of the agent back to the caller.
    const [caller = 0n, other = 0n, agent = 0n] = before;
    expect(await Promise.all(holders.map((holder) => usdcOn(network, holder)))).toEqual([caller + BOND, other, agent - BOND]);
    await page.goto('/disputes?status=expired');
    await page.locator(`a[href="/disputes/${dispute}"]`).waitFor();
    expect([problems, own.problems]).toEqual([[], []]);
    await own.context.close();
    await context.close();
});
