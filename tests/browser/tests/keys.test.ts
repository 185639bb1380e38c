// API keys from the user's side: made in the page, used over HTTP, changed, revoked, with what the chain says of it.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { rpc, usdcOf } from '../support/chain';
import { HOSTILE, harm } from '../support/hostile';
import { cardOf, fillKey, makeKey, takeKey } from '../support/keys';
import { addMockWallet, behave, callerKey } from '../support/mockWallet';
import { connectNew, signIn } from '../support/newWallet';
import { ownNetwork } from '../support/ownNetwork';

const open = useBrowser();
const network = ownNetwork();
const PRICE = 10_000n;

type Delegation = { value: { account: { data: { parsed: { info: { delegatedAmount?: { amount: string } } } } } }[] };

/** What a wallet lets its keys take, in base units. */
async function approvedBy(owner: string): Promise<bigint> {
    const config = { encoding: 'jsonParsed', commitment: 'confirmed' };
    const { value } = await rpc<Delegation>('getTokenAccountsByOwner', [owner, { mint: network.usdc_mint }, config]);
    return BigInt(value[0]?.account.data.parsed.info.delegatedAmount?.amount ?? '0');
}

const execute = (key: string, agent: 0 | 1 = 0, parameters: object = {}): Promise<Response> =>
    fetch(`${network.base_url}/v1/agents/${network.agents[agent]?.agent_id}/execute`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ task: 'one two two', parameters }),
    });

/** Everything that the page keeps in this browser, as text. */
const kept = (page: Page): Promise<string> => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));

/** The list of keys of a wallet that has none. */
async function openKeys(page: Page): Promise<string> {
    await page.goto('/keys');
    const wallet = await connectNew(page);
    await signIn(page);
    await page.getByText('No key yet').waitFor();
    return wallet;
}

const spentIs = (page: Page, name: string, words: string): Promise<void> =>
    expect.poll(() => page.getByRole('meter', { name: `Spent with ${name}` }).getAttribute('aria-valuetext'), { timeout: 30_000 }).toBe(words);

test('a key made in the page pays a call over HTTP, its bar moves, and after the revocation the same call is 401', async () => {
    const { page, context, problems } = await open();
    const wallet = await openKeys(page);
    const before = await usdcOf(wallet);
    const key = await makeKey(page, { name: 'ci' });
    expect(await usdcOf(wallet)).toBe(before);
    expect(await approvedBy(wallet)).toBe(6_250_000n);
    expect(await kept(page)).not.toContain(key.slice('crtx_test_'.length));
    await page.getByRole('link', { name: 'All API keys' }).first().click();
    await spentIs(page, 'ci', '0 of 5 USDC spent');
    await cardOf(page, 'ci').getByText('Active').waitFor();
    await cardOf(page, 'ci').getByText(`…${key.slice(-4)}`).waitFor();
    expect(await page.content()).not.toContain(key);

    const paid = await execute(key);
    expect([paid.status, ((await paid.json()) as { status: string }).status]).toEqual([200, 'completed']);
    expect(await usdcOf(wallet)).toBe(before - PRICE);
    expect(await approvedBy(wallet)).toBe(6_250_000n - PRICE);
    await spentIs(page, 'ci', '0.01 of 5 USDC spent');

    await cardOf(page, 'ci').getByRole('button', { name: 'Revoke' }).click();
    await cardOf(page, 'ci').getByText('falls from').waitFor();
    await cardOf(page, 'ci').getByRole('button', { name: 'Revoke for good' }).click();
    await page.getByText('The key ci is revoked. Nobody can use it any more.').last().waitFor();
    await cardOf(page, 'ci').waitFor({ state: 'detached' });
    expect((await execute(key)).status).toBe(401);
    expect(await usdcOf(wallet)).toBe(before - PRICE);
    expect(await approvedBy(wallet)).toBe(0n);
    await page.getByLabel('Show 1 revoked key').check();
    await cardOf(page, 'ci').getByText('Revoked').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('a reload between the signature and the registration loses nothing', async () => {
    const { page, context, problems } = await open();
    await openKeys(page);
    await page.getByRole('link', { name: 'Make an API key' }).click();
    await fillKey(page, { name: 'interrupted' });
    const key = await takeKey(page);
    const busy = { status: 503, headers: { 'retry-after': '1' }, json: { error: { code: 'unavailable', message: 'not now' } } };
    await page.route('**/v1/keys', (route) => (route.request().method() === 'POST' ? route.fulfill(busy) : route.continue()));
    await page.getByRole('button', { name: 'Sign and grant' }).click();
    await page.getByText('The chain has the grant.').waitFor();
    expect(await kept(page)).not.toContain(key.slice('crtx_test_'.length));
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.goto('/keys');
    await cardOf(page, 'interrupted').getByText('Active').waitFor();
    await expect.poll(() => kept(page), { timeout: 30_000 }).not.toContain('crtx.key.');
    expect((await execute(key)).status).toBe(200);
    expect(problems).toEqual([]);
    await context.close();
});

test('a grant that nobody registered is shown, and the holder of its key registers it', async () => {
    const { page, context, problems } = await open();
    const wallet = await openKeys(page);
    await page.route('**/v1/keys', (route) => (route.request().method() === 'POST' ? route.fulfill({ status: 400, json: { error: { code: 'invalid_request', message: 'not today' } } }) : route.continue()));
    await page.getByRole('link', { name: 'Make an API key' }).click();
    await fillKey(page, { name: 'forgotten' });
    const key = await takeKey(page);
    await page.getByRole('button', { name: 'Sign and grant' }).click();
    await page.getByText('Granted, but not registered yet').waitFor();
    await page.getByRole('link', { name: 'All API keys' }).first().click();
    await page.getByText('not today').waitFor();
    await page.getByRole('button', { name: 'Leave it unregistered' }).click();
    await page.unrouteAll({ behavior: 'ignoreErrors' });

    const card = cardOf(page, 'Key without a name');
    await card.getByText('Not registered').waitFor();
    await card.getByRole('button', { name: 'Register' }).click();
    await card.getByLabel('Name').fill('found again');
    await card.getByLabel('The key').fill(`${key.slice(0, -1)}${key.endsWith('1') ? '2' : '1'}`);
    await card.getByRole('button', { name: 'Register the key' }).click();
    await card.getByText(/does not belong|not an API key/).waitFor();
    await card.getByLabel('The key').fill(key);
    await card.getByRole('button', { name: 'Register the key' }).click();
    await cardOf(page, 'found again').getByText('Active').waitFor();
    const before = await usdcOf(wallet);
    expect((await execute(key)).status).toBe(200);
    expect(await usdcOf(wallet)).toBe(before - PRICE);
    expect(problems).toEqual([]);
    await context.close();
});

test('a rejected signature grants nothing, and the same key can be signed again', async () => {
    const { page, context, problems } = await open();
    await addMockWallet(page, await callerKey(network));
    await page.goto('/keys');
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Mock wallet' }).click();
    await page.keyboard.press('Escape');
    await signIn(page);
    const before = await approvedBy(network.wallet);
    const { approval } = (await (await fetch(`${network.base_url}/v1/wallets/${network.wallet}`)).json()) as { approval: { short_usdc: number } };
    // A new key also raises what was short before: refunds give back to keys, and not to the approval.
    const short = BigInt(Math.round(approval.short_usdc * 1e6));
    await page.getByRole('link', { name: 'Make an API key' }).click();
    await fillKey(page, { name: 'second thoughts', total: '0.03', perCall: '0.03' });
    await takeKey(page);
    await behave(page, { transaction: 'reject' });
    await page.getByRole('button', { name: 'Sign and grant' }).click();
    await page.getByText('You did not sign').waitFor();
    expect(await approvedBy(network.wallet)).toBe(before);
    expect(await kept(page)).not.toContain('crtx.key.');
    await behave(page, { transaction: 'sign' });
    await page.getByRole('button', { name: 'Sign and grant' }).click();
    await page.getByText('The key works').waitFor();
    const granted = await approvedBy(network.wallet);
    expect(granted).toBeGreaterThanOrEqual(before + short + 30_000n);
    await page.getByRole('link', { name: 'All API keys' }).first().click();
    await cardOf(page, 'second thoughts').getByRole('button', { name: 'Revoke' }).click();
    await cardOf(page, 'second thoughts').getByRole('button', { name: 'Revoke for good' }).click();
    await cardOf(page, 'second thoughts').waitFor({ state: 'detached' });
    // The other keys keep what they need.
    expect(await approvedBy(network.wallet)).toBeGreaterThanOrEqual(before + short);
    expect(await approvedBy(network.wallet)).toBeLessThan(granted);
    expect(problems).toEqual([]);
    await context.close();
});

test('limits and names change, the key stays, and the chain enforces what the page says', async () => {
    const { page, context, problems } = await open();
    const wallet = await openKeys(page);
    const key = await makeKey(page, { name: 'first name', perCall: '0.01', total: '0.01' });
    await page.getByRole('link', { name: 'All API keys' }).first().click();
    const first = cardOf(page, 'first name');
    await first.getByRole('button', { name: 'Rename' }).click();
    await first.getByLabel('New name').fill('a\u200bb');
    await first.getByText('visible characters only').waitFor();
    await first.getByLabel('New name').fill('other name');
    await first.getByRole('button', { name: 'Save the name' }).click();
    const card = cardOf(page, 'other name');
    await card.waitFor();

    expect((await execute(key)).status).toBe(200);
    expect((await execute(key)).status).toBe(403);
    await card.getByText('Used up').waitFor();
    await card.getByRole('button', { name: 'Change the limits' }).click();
    expect(await card.getByLabel('Total limit (USDC)').inputValue()).toBe('0.01');
    await card.getByLabel('Total limit (USDC)').fill('1');
    await card.getByLabel('Only agents that I choose').check();
    await card.getByLabel('Add an agent').fill('text');
    await card.getByRole('button', { name: new RegExp(network.agents[0]?.name ?? '') }).first().click();
    await card.getByText('The key may pay for calls to 1 agent').waitFor();
    await card.getByRole('button', { name: 'Sign the new limits' }).click();
    await card.getByText('The key has its new limits').waitFor();
    expect(await approvedBy(wallet)).toBe(1_237_500n);
    await spentIs(page, 'other name', '0.01 of 1 USDC spent');
    expect((await execute(key)).status).toBe(200);
    expect((await execute(key, 1)).status).toBe(403);
    expect(await usdcOf(wallet)).toBe(1_000_000_000n - 2n * PRICE);
    expect(problems).toEqual([]);
    await context.close();
});

test('a limit for a day stops the next call, and the list says what is left today and by the approval', async () => {
    const { page, context, problems } = await open();
    const wallet = await openKeys(page);
    const before = await usdcOf(wallet);
    const key = await makeKey(page, { name: 'daily', perCall: '0.01', total: '1', daily: '0.01' });
    await page.getByRole('link', { name: 'All API keys' }).first().click();
    const today = page.getByRole('meter', { name: 'Spent today with daily' });
    const todayIs = (words: string): Promise<void> => expect.poll(() => today.getAttribute('aria-valuetext'), { timeout: 30_000 }).toBe(words);
    await todayIs('0 of 0.01 USDC spent today (UTC)');
    await cardOf(page, 'daily').getByText('Calls left by approval').waitFor();
    await page.getByText('Approve again above to renew it.').waitFor();
    expect((await execute(key)).status).toBe(200);
    await todayIs('0.01 of 0.01 USDC spent today (UTC)');
    expect((await execute(key)).ok).toBe(false);
    expect(await usdcOf(wallet)).toBe(before - PRICE);

    // Another limit holds at once.
    const card = cardOf(page, 'daily');
    await card.getByRole('button', { name: 'Change the limits' }).click();
    expect(await card.getByLabel('Limit per day (USDC)').inputValue()).toBe('0.01');
    await card.getByLabel('Limit per day (USDC)').fill('');
    await card.getByRole('button', { name: 'Sign the new limits' }).click();
    await card.getByText('The key has its new limits').waitFor();
    await today.waitFor({ state: 'detached' });
    expect((await execute(key)).status).toBe(200);
    expect(await usdcOf(wallet)).toBe(before - 2n * PRICE);
    expect(problems).toEqual([]);
    await context.close();
});

test('the approval is changed, taken back, and raised by what is missing', async () => {
    const { page, context, problems } = await open();
    const wallet = await openKeys(page);
    const key = await makeKey(page, { name: 'only one' });
    await page.getByRole('link', { name: 'All API keys' }).first().click();
    const panel = page.getByRole('region', { name: 'Approval for all keys together' });
    await panel.getByRole('button', { name: 'Change', exact: true }).click();
    await panel.getByLabel(/^Approve for all keys/).fill('0.005');
    await panel.getByText('Your keys may spend more than that').waitFor();
    await panel.getByRole('button', { name: 'Sign the change' }).click();
    await panel.getByText('The approval is 4.995 USDC short').waitFor();
    expect(await approvedBy(wallet)).toBe(5_000n);
    expect((await execute(key)).status).toBe(402);
    await panel.getByRole('button', { name: 'Change', exact: true }).click();
    await panel.getByRole('button', { name: 'Remove the approval' }).click();
    await panel.getByText('The approval is 5 USDC short').waitFor();
    expect(await approvedBy(wallet)).toBe(0n);
    await panel.getByRole('button', { name: 'Approve 6.25 USDC' }).click();
    await panel.getByText('short').waitFor({ state: 'detached' });
    expect(await approvedBy(wallet)).toBe(6_250_000n);
    expect((await execute(key)).status).toBe(200);
    expect(problems).toEqual([]);
    await context.close();
});

test('refunds use the approval up: the calls that are left are counted, and below ten the page names the cause', async () => {
    const { page, context, problems } = await open();
    const wallet = await openKeys(page);
    const key = await makeKey(page, { name: 'unlucky', perCall: '0.02', total: '0.02' });
    await page.getByRole('link', { name: 'All API keys' }).first().click();
    const panel = page.getByRole('region', { name: 'Approval for all keys together' });
    await panel.getByText('At least 11').waitFor();
    expect(await panel.getByText('about to run out').count()).toBe(0);
    const before = await usdcOf(wallet);
    for (const left of [200_000n, 180_000n]) {
        await execute(key, 1, { behaviour: 'fail' });
        await expect.poll(() => approvedBy(wallet)).toBe(left);
        await expect.poll(() => usdcOf(wallet)).toBe(before);
    }
    await panel.getByText('The approval is about to run out').waitFor();
    await panel.getByText('At least 9').waitFor();
    await panel.getByText('It pays for 9 more calls').waitFor();
    await panel.getByText('refunds use it up').waitFor();
    await panel.getByRole('button', { name: 'Approve 0.22 USDC' }).click();
    await panel.getByText('about to run out').waitFor({ state: 'detached' });
    expect(await approvedBy(wallet)).toBe(220_000n);
    expect(problems).toEqual([]);
    await context.close();
});

test('a form says what is missing before a key is made', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    await openKeys(page);
    await page.getByRole('link', { name: 'Make an API key' }).click();
    await page.getByRole('button', { name: 'Make the key' }).click();
    await page.getByText('Write a name.').waitFor();
    await fillKey(page, { name: 'x', perCall: '6', total: '5' });
    await page.getByRole('button', { name: 'Make the key' }).click();
    await page.getByText('no call could cost as much').waitFor();
    await fillKey(page, { name: 'x', perCall: '1', total: '1,5' });
    await page.getByText('with a point and without separators').waitFor();
    expect(await page.getByText(/^crtx_test_/).count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
});

test.each(['markup', 'direction', 'word'] as const)('an agent with a hostile name (%s) changes nothing else in keys', async (kind) => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.route(/\/v1\/agents(\/[^/?]+)?(\?|$)/, async (route) => {
        const answer = await route.fetch();
        const body = JSON.parse(await answer.text()) as { agents?: object[] };
        const named = (agent: object) => ({ ...agent, name: HOSTILE[kind] });
        await route.fulfill({ response: answer, json: body.agents ? { ...body, agents: body.agents.map(named) } : named(body) });
    });
    await openKeys(page);
    await page.getByRole('link', { name: 'Make an API key' }).click();
    await fillKey(page, { name: 'x' });
    await page.getByLabel('Only agents that I choose').check();
    await page.getByLabel('Add an agent').fill('text');
    const offer = page.getByRole('list').getByRole('button').first();
    await offer.waitFor();
    expect(await harm(page)).toEqual([]);
    await offer.click();
    await page.getByRole('list', { name: 'Add an agent: chosen' }).waitFor();
    expect(await harm(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.unrouteAll({ behavior: 'wait' });
    await context.close();
});
