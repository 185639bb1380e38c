// A creator's own agents from the creator's side: pause, collateral, result key, the way out of the market, the profile,
// with the chain's balances to the base unit and what callers get over HTTP.

import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { usdcOf } from '../support/chain';
import { managePath, openAs, openTab } from '../support/creatorPages';
import { accountOf, resultKeyOf, useCreators } from '../support/creators';
import { HOSTILE, harm } from '../support/hostile';
import { asked, behave } from '../support/mockWallet';
import { signIn } from '../support/newWallet';
import { ownNetwork } from '../support/ownNetwork';

const open = useBrowser();
const newCreator = useCreators();
const network = ownNetwork();
const PRICE = 50_000n;
const COLLATERAL = 10_000_000n;
const FEE_LAMPORTS = 5_000;

const part = (page: Page, name: string) => page.getByRole('region', { name });
const leave = (page: Page) => part(page, 'Leave the market');

/** A call with an API key, as a caller's program makes it. */
async function execute(agentId: string, parameters: object = {}): Promise<{ status: number; body: { status?: string; error?: { code: string } } }> {
    const answer = await fetch(`${network.base_url}/v1/agents/${agentId}/execute`, {
        method: 'POST',
        headers: { authorization: `Bearer ${network.api_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ task: 'one two three', parameters }),
    });
    return { status: answer.status, body: (await answer.json()) as { status?: string } };
}

const statusOf = async (agentId: string): Promise<string | undefined> =>
    ((await (await fetch(`${network.base_url}/v1/agents/${agentId}`)).json()) as { status?: string }).status;

async function save(page: Page, button: string): Promise<{ name: string; file: string }> {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
    return { name: download.suggestedFilename(), file: await download.path() };
}

test('a newcomer is told how to begin', async () => {
    const { page, context, problems } = await open();
    await openAs(page, await newCreator(network), '/creator');
    await page.getByText('You have not listed an agent yet').waitFor();
    expect(await page.getByRole('link', { name: 'List a new agent' }).getAttribute('href')).toBe('/creator/new');
    expect(await page.getByRole('link', { name: 'Executions of my agents' }).getAttribute('href')).toBe('/executions?role=creator');
    expect(await page.getByRole('link', { name: 'Disputes against me' }).getAttribute('href')).toBe('/disputes?role=creator');
    expect(problems).toEqual([]);
    await context.close();
});

test('a paused agent refuses calls until it is resumed, by the keyboard alone', async () => {
    const creator = await newCreator(network);
    const { agentId, name } = await creator.list('pausing');
    const { page, context, problems } = await open();
    await openAs(page, creator, '/creator');
    await page.getByRole('table', { name: 'My agents' }).getByRole('link', { name }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Pause the agent' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The agent is paused.').waitFor();
    expect(await statusOf(agentId)).toBe('paused');
    expect(await execute(agentId)).toMatchObject({ status: 422, body: { error: { code: 'agent_paused' } } });
    await page.getByRole('link', { name: 'All my agents' }).click();
    await page.getByRole('table', { name: 'My agents' }).getByText('Paused', { exact: true }).waitFor();

    await page.goBack();
    await page.getByRole('button', { name: 'Resume the agent' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The agent takes calls.').waitFor();
    const before = await usdcOf(creator.address);
    expect(await execute(agentId)).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect((await usdcOf(creator.address)) - before).toBe(PRICE - PRICE / 100n);
    await page.goto('/creator');
    await page.getByText('0.0495 USDC', { exact: true }).first().waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('a deposit moves exactly what was typed, and the page says before what changes', async () => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('deposit');
    const { page, context, problems } = await open();
    await openAs(page, creator, managePath(agentId, 'collateral'));
    const amount = page.getByLabel('USDC to add');
    const add = page.getByRole('button', { name: 'Add to the collateral' });
    for (const [text, reason] of [
        ['', 'Enter how much'],
        ['0', 'more than 0'],
        ['1e3', 'Write an amount such as'],
        ['0.0000001', 'at most six decimals'],
        ['990.000001', 'Your wallet has 990 USDC.'],
    ] as const) {
        await amount.fill(text);
        await add.click();
        await part(page, 'Collateral').getByText(reason).waitFor();
        expect(await amount.getAttribute('aria-invalid')).toBe('true');
    }
    expect(await asked(page)).toBe(0);

    const before = [await usdcOf(creator.address), await usdcOf(agentId)];
    await amount.fill('40.000001');
    const table = page.getByRole('table', { name: /^Before and after/ });
    expect(await table.getByRole('row', { name: /^Collateral/ }).innerText()).toMatch(/10\s+50\.000001/);
    expect(await table.getByRole('row', { name: /^Highest price/ }).innerText()).toMatch(/0\.10\s+1$/);
    expect(await table.getByRole('row', { name: /^In your wallet/ }).innerText()).toMatch(/990\s+949\.999999/);
    await amount.press('Enter');
    await page.getByText('40.000001 USDC are added to the collateral.').waitFor();
    const after = [await usdcOf(creator.address), await usdcOf(agentId)];
    expect(after.map((held, index) => held - (before[index] ?? 0n))).toEqual([-40_000_001n, 40_000_001n]);
    await openTab(page, 'Listing');
    await part(page, 'Listing').getByText('50.000001 USDC').waitFor();
    expect(await asked(page)).toBe(1);
    expect(problems).toEqual([]);
    await context.close();
});

test('a result key made in the browser is saved as a file with which the service signs the next call', async () => {
    const creator = await newCreator(network);
    const { agentId, useKey } = await creator.list('rotating');
    const { page, context, problems } = await open();
    await openAs(page, creator, managePath(agentId, 'key'));
    const old = await resultKeyOf(agentId);
    const replace = page.getByRole('button', { name: 'Replace the key' });
    await replace.click();
    await page.getByText('Make the new key first.').waitFor();
    await page.getByRole('button', { name: 'Make a new key' }).click();
    await page.getByRole('button', { name: 'Save the key file' }).waitFor();
    await replace.click();
    await page.getByText('Save the key file first.').waitFor();
    expect(await asked(page)).toBe(0);
    const { name, file } = await save(page, 'Save the key file');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveLength(64);
    await replace.click();
    await page.getByText('Your service has to use it now.').waitFor();
    const key = await resultKeyOf(agentId);
    expect(key).not.toBe(old);
    expect(name).toBe(`result-key-${key.slice(0, 8)}.json`);

    // The service still signs with the old key, so the caller gets the money back.
    expect((await execute(agentId)).status).toBe(500);
    await useKey(file);
    const before = await usdcOf(creator.address);
    expect((await execute(agentId)).status).toBe(200);
    expect((await usdcOf(creator.address)) - before).toBe(PRICE - PRICE / 100n);

    // The key that is there already, what is no key, and the old key by its address.
    await page.getByRole('radio', { name: 'a key that you already have' }).check();
    const pasted = page.getByLabel('Public key');
    for (const [text, reason] of [
        ['', 'Paste the public key'],
        ['not a key', 'A public key has 32 to 44'],
        ['[1, 2, 3]', 'A key file is a JSON array of 64 numbers'],
        ['11111111111111111111111111111111', 'Anybody can sign'],
        [readFileSync(file, 'utf8'), 'This is already the result key.'],
    ] as const) {
        await pasted.fill(text);
        await replace.click();
        await part(page, 'Result key').getByText(reason).waitFor();
    }
    await pasted.fill(old);
    await replace.click();
    await page.getByText(`New calls need the signature of ${old.slice(0, 4)}`).waitFor();
    expect(await resultKeyOf(agentId)).toBe(old);
    expect(await asked(page)).toBe(2);
    expect(problems).toEqual([]);
    await context.close();
});

test('what an agent earned today is shown, and saved as CSV, to the base unit', async () => {
    const creator = await newCreator(network);
    const { agentId, useKey } = await creator.list('earning');
    const before = await usdcOf(creator.address);
    expect((await execute(agentId)).status).toBe(200);
    expect((await execute(agentId)).status).toBe(200);
    // The agent signs that it refuses, so this failure counts.
    expect((await execute(agentId, { max_words: 1 })).status).toBe(500);
    const other = path.join(mkdtempSync(path.join(tmpdir(), 'crtx-key-')), 'key.json');
    await creator.crtx(['wallet', 'new', '--out', other]);
    await useKey(other);
    // That a signature does not fit is the word of the gateway alone, so this one does not.
    expect((await execute(agentId)).status).toBe(500);
    const earned = (await usdcOf(creator.address)) - before;
    expect(earned).toBe(2n * (PRICE - PRICE / 100n));

    const { page, context, problems } = await open();
    await openAs(page, creator, '/creator');
    const earnings = part(page, 'Earnings, last 30 days');
    await earnings.getByText('2 completed, 1 failed').waitFor();
    expect(await earnings.getByRole('definition').allInnerTexts()).toEqual(['0.099 USDC', '0.001 USDC', '2 completed, 1 failed']);
    const { name, file } = await save(page, 'Save as CSV');
    expect(name).toBe(`crtx-earnings-${creator.address.slice(0, 8)}.csv`);
    const [head, row, ...others] = readFileSync(file, 'utf8').trim().split('\r\n');
    expect(head).toContain('earned_usdc');
    expect(row).toMatch(/^\d{4}-\d\d-\d\d,2,1,0,0\.099,0\.001$/);
    expect(others).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});

test('an agent leaves the market: delisted, collateral back, accounts closed, to the base unit and the lamport', async () => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('leaving');
    const { page, context, problems } = await open();
    await openAs(page, creator, managePath(agentId, 'leave'));
    await page.getByRole('button', { name: 'Delist …' }).click();
    await page.getByRole('button', { name: 'Delist for good' }).click();
    await page.getByText('Tick the box first.').waitFor();
    expect(await asked(page)).toBe(0);
    await page.getByRole('checkbox', { name: 'I know that this cannot be undone' }).check();
    await page.getByRole('button', { name: 'Delist for good' }).click();
    await page.getByText('The agent is delisted.').waitFor();
    expect((await execute(agentId)).status).toBe(404);

    const before = await usdcOf(creator.address);
    await page.getByRole('button', { name: 'Withdraw 10 USDC' }).click();
    await page.getByText('10 USDC are back in your wallet.').waitFor();
    expect((await usdcOf(creator.address)) - before).toBe(COLLATERAL);
    expect(await usdcOf(agentId)).toBe(0n);

    // The rent of three accounts, less the fee of one signature.
    const lamports = async (address: string): Promise<number> => (await accountOf(address))?.lamports ?? 0;
    const [wallet, listing] = [await lamports(creator.address), await lamports(agentId)];
    await page.getByRole('button', { name: 'Close the accounts' }).click();
    await page.getByText('This agent is closed').waitFor();
    await page.getByText('SOL are back in your wallet.').waitFor();
    expect(await accountOf(agentId)).toBe(null);
    const TOKEN_ACCOUNT = 2_039_280;
    expect((await lamports(creator.address)) - wallet).toBe(listing + 2 * TOKEN_ACCOUNT - FEE_LAMPORTS);
    await page.getByRole('link', { name: 'See all my agents' }).click();
    await page.getByText('You have not listed an agent yet').waitFor();
    await page.getByText('Your profile keeps the totals of 1 closed agent.').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('collateral stays locked while a completed call can be disputed, with the countdown and the reason', async () => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('locked');
    expect((await execute(agentId)).status).toBe(200);
    const { page, context, problems } = await open();
    await openAs(page, creator, managePath(agentId, 'leave'));
    await page.getByRole('button', { name: 'Delist …' }).click();
    await leave(page).getByText(/can be withdrawn after \d{4}-\d\d-\d\d/).waitFor();
    await page.getByRole('checkbox', { name: 'I know that this cannot be undone' }).check();
    await page.getByRole('button', { name: 'Delist for good' }).click();
    await page.getByText('10 USDC are still locked:').waitFor();
    const reasons = page.getByRole('list', { name: 'Why the collateral is locked' });
    expect(await reasons.getByRole('listitem').allInnerTexts()).toEqual([
        expect.stringMatching(/^A completed call can be disputed until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. The collateral is free in \d+ d( \d+ h)?\.$/),
    ]);
    expect(await page.getByRole('button', { name: /^Withdraw/ }).count()).toBe(0);
    await page.goto('/creator');
    await page.getByRole('table', { name: 'My agents' }).getByText('Delisted', { exact: true }).waitFor();
    expect(await page.getByText('Collateral that you can withdraw').count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
});

test('a rejected signature, a lost connection and a wrong network each have a way on', async () => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('stumbling', { isSilent: true });
    const { page, context } = await open();
    await openAs(page, creator, managePath(agentId));
    const pause = page.getByRole('button', { name: 'Pause the agent' });
    await pause.waitFor();
    await behave(page, { transaction: 'reject' });
    await pause.click();
    await page.getByText('You did not sign').waitFor();

    await behave(page, { transaction: 'sign', chains: ['solana:mainnet'] });
    await pause.click();
    await page.getByText('This account is not for solana:localnet.').waitFor();

    await behave(page, { chains: ['solana:localnet'] });
    await page.route(`${network.rpc_url}/**`, (route) => route.abort());
    await pause.click();
    await page.getByText('Check the connection, then try again.').first().waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    expect(await statusOf(agentId)).toBe('active');

    await pause.click();
    await page.getByText('The agent is paused.').waitFor();
    expect(await statusOf(agentId)).toBe('paused');
    expect(await asked(page)).toBe(2);
    await context.close();
});

test('what was done elsewhere in the meantime is not done twice', async () => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('elsewhere', { isSilent: true });
    const { page, context, problems } = await open();
    await openAs(page, creator, managePath(agentId, 'leave'));
    await page.getByRole('button', { name: 'Pause the agent' }).waitFor();
    await creator.crtx(['agent', 'delist', agentId, '--yes']);
    await page.getByRole('button', { name: 'Delist …' }).click();
    await page.getByRole('checkbox', { name: 'I know that this cannot be undone' }).check();
    await page.getByRole('button', { name: 'Delist for good' }).click();
    await page.getByText('The agent is already delisted.').waitFor();
    await page.getByRole('button', { name: 'Withdraw 10 USDC' }).waitFor();
    expect(await asked(page)).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
});

test('the display name is checked, shown to callers, and loses its badge when it changes', async () => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('named', { isSilent: true });
    const { page, context, problems } = await open();
    await openAs(page, creator, '/creator');
    const profile = part(page, 'Creator profile');
    const name = page.getByLabel('Display name');
    const change = page.getByRole('button', { name: 'Change the name' });
    await profile.getByText('you have no display name').waitFor();
    for (const [text, reason] of [
        ['', 'Write a name.'],
        [' Ada', 'no space around it'],
        ['pay\u200bpal', 'visible characters only'],
        ['ä'.repeat(17), 'this one has 34'],
    ] as const) {
        await name.fill(text);
        await change.click();
        await profile.getByText(reason).waitFor();
    }
    const shown = async () => {
        const { creator } = (await (await fetch(`${network.base_url}/v1/agents/${agentId}`)).json()) as { creator: object };
        return creator;
    };
    await name.fill('Ada <b>Ä</b> ★');
    await change.click();
    await page.getByText('Your display name is changed.').waitFor();
    expect(await shown()).toMatchObject({ display_name: 'Ada <b>Ä</b> ★', verified: false });
    expect(await harm(page)).toEqual([]);

    await creator.crtx(['admin', 'verify-creator', creator.address, '--name', 'Ada <b>Ä</b> ★', '--yes'], 'admin');
    await page.reload();
    await profile.getByText('Verified creator').waitFor();
    await profile.getByText('You lose it with another name').waitFor();
    await name.fill('Ada');
    await change.click();
    await profile.getByText('Not verified').waitFor();
    await page.getByText('Your display name is changed.').waitFor();
    expect(await shown()).toMatchObject({ display_name: 'Ada', verified: false });
    expect(problems).toEqual([]);
    await context.close();
});

test.each(['phone', 'desktop'] as const)('hostile names and reasons are text among the own agents (%s)', async (width) => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('hostile', { isSilent: true });
    const { page, context, problems } = await open({ width });
    const text = Object.values(HOSTILE).join(' ');
    await page.route('**/v1/wallets/*', async (route) => {
        const answer = await route.fetch();
        const body = (await answer.json()) as { agents: object[] };
        const reason = { code: 'document_mismatch', message: text };
        await route.fulfill({ response: answer, json: { ...body, agents: body.agents.map((agent) => ({ ...agent, name: text, reason })) } });
    });
    await page.route(`**/v1/agents/${agentId}/listing`, async (route) => {
        const document = { uri: text, sha256: `sha256:${'0'.repeat(64)}`, usable: false, attempts: 2, last_attempt_at: null, next_attempt_at: null };
        const reason = { code: 'document_invalid', message: text };
        await route.fulfill({ json: { agent_id: agentId, shown: false, listed: false, reason, document } });
    });
    await page.route(`**/v1/agents/${agentId}`, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), name: text, tagline: text } });
    });
    await openAs(page, creator, '/creator');
    await page.getByText('Callers cannot find these agents').waitFor();
    expect(await harm(page)).toEqual([]);
    await page.getByRole('table', { name: 'My agents' }).getByRole('link').first().click();
    await page.getByText('Callers cannot find this agent now').waitFor();
    expect(await harm(page)).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});

test('addresses for firewalls can be copied, one or all', async () => {
    const { page, context, problems } = await open();
    await page.route('**/v1/network', async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), outbound_addresses: ['192.0.2.0/24', '2001:db8::/48'] } });
    });
    await openAs(page, await newCreator(network), '/creator');
    await page.getByRole('button', { name: 'Copy 192.0.2.0/24' }).click();
    await page.getByRole('button', { name: 'Copied 192.0.2.0/24' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('192.0.2.0/24');
    await page.getByRole('button', { name: 'Copy all addresses' }).click();
    await page.getByRole('button', { name: 'Copied all addresses' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('192.0.2.0/24\n2001:db8::/48');
    expect(problems).toEqual([]);
    await context.close();
});

test('an agent of another wallet, a closed one and no address at all are told apart', async () => {
    const { page, context, problems } = await open();
    await openAs(page, await newCreator(network), managePath(network.agents[0]?.agent_id ?? ''));
    await page.getByText('This agent belongs to another wallet').waitFor();
    expect(await page.getByRole('button', { name: /Pause|Delist/ }).count()).toBe(0);
    await page.goto(managePath('11111111111111111111111111111111'));
    await page.getByText('There is no such agent').first().waitFor();
    await page.goto(managePath('nonsense'));
    await page.getByRole('heading', { name: 'There is no such agent' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('the tab is in the URL, is reached by the keyboard, and keeps what was typed', async () => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('tabbed', { isSilent: true });
    const { page, context, problems } = await open();
    await openAs(page, creator, managePath(agentId, 'collateral'));
    await page.getByLabel('USDC to add').fill('12.5');
    const tab = (name: string) => page.getByRole('tab', { name, exact: true });
    expect(await tab('Collateral').getAttribute('aria-selected')).toBe('true');
    await tab('Collateral').focus();
    for (const [name, heading] of [
        ['Key', 'Result key'],
        ['Webhooks', ''],
        ['Leave', 'Leave the market'],
        ['Listing', 'Listing'],
        ['Calls', ''],
        ['Collateral', 'Collateral'],
    ] as const) {
        await page.keyboard.press('ArrowRight');
        await page.waitForURL((url) => url.searchParams.get('tab') === name.toLowerCase());
        expect(await tab(name).evaluate((element) => element === document.activeElement)).toBe(true);
        // Calls and webhooks are private to the wallet, which is not signed in yet.
        if (heading === '') await page.getByRole('tabpanel', { name }).getByText('Sign in above').waitFor();
        else await page.getByRole('tabpanel', { name }).getByRole('heading', { name: heading, exact: true }).waitFor();
        expect(await page.getByRole('tabpanel').count()).toBe(1);
    }
    expect(await page.getByLabel('USDC to add').inputValue()).toBe('12.5');
    await page.keyboard.press('Tab');
    expect(await page.getByLabel('USDC to add').evaluate((element) => element === document.activeElement)).toBe(true);
    // A tab that the agent does not have is no tab.
    await page.goto(managePath(agentId, 'nonsense'));
    await part(page, 'Listing').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('a webhook made on the page of an agent hears of this agent alone', async () => {
    const creator = await newCreator(network);
    const { agentId, name } = await creator.list('heard', { isSilent: true });
    const { page, context, problems } = await open();
    await openAs(page, creator, managePath(agentId, 'webhooks'));
    await signIn(page);
    await page.getByText('No webhook hears of this agent yet.').waitFor();
    await page.getByLabel('URL').fill('http://127.0.0.1:9/crtx');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.getByText('Save this secret now').waitFor();
    const card = page.getByRole('tabpanel', { name: 'Webhooks' }).getByRole('listitem');
    await card.getByText('http://127.0.0.1:9/crtx').waitFor();
    await card.getByRole('definition').getByText(name, { exact: true }).waitFor();
    const { agents } = (await page.evaluate(async (wallet) => {
        const answer = await fetch('/v1/webhooks', { headers: { 'X-Crtx-Wallet': wallet } });
        return ((await answer.json()) as { webhooks: object[] }).webhooks[0];
    }, creator.address)) as { agents: string[] };
    expect(agents).toEqual([agentId]);
    expect(problems).toEqual([]);
    await context.close();
});

test.each(['phone', 'desktop'] as const)('hostile failures are text, and many of them stay a short list (%s)', async (width) => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('failing', { isSilent: true });
    const { page, context, problems } = await open({ width });
    const texts = Object.values(HOSTILE);
    const failures = Array.from({ length: 20 }, (_, number) => {
        const text = texts[number % texts.length] ?? '';
        return { execution_id: `${number}${text}`, initiated_at: '2026-11-28T10:00:00Z', code: text, message: text, request_id: text };
    });
    const figures = { executions: 20, completed: 0, failed: 20, success_rate: 0, p50_ms: null, p95_ms: null };
    await page.route('**/v1/agents/*/health', (route) => route.fulfill({ json: { window_seconds: 86_400, ...figures, failures } }));
    await page.route('**/v1/executions/totals?*', (route) => route.fulfill({ json: { groups: [] } }));
    await page.route('**/v1/executions?*', (route) => {
        const executions = texts.map((text, number) => ({
            execution_id: `${number}${text.slice(0, 100)}`,
            agent_id: agentId,
            agent_name: text,
            status: 'failed',
            cost_usdc: 0,
            initiated_at: '2026-11-28T10:00:00Z',
            completed_at: null,
            on_chain_record: '/',
            failure: text,
            creator_amount_usdc: 0,
            execution_time_ms: null,
        }));
        return route.fulfill({ json: { executions, total: executions.length, limit: 25, offset: 0, next_cursor: null } });
    });
    await openAs(page, creator, managePath(agentId, 'calls'));
    await signIn(page);
    const table = page.getByRole('table', { name: 'Last failures' });
    await table.waitFor();
    await page.getByRole('table', { name: 'Calls of this agent, newest first' }).waitFor();
    expect(await table.locator('tbody tr').count()).toBe(5);
    expect(await harm(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show all 20 failures' }).click();
    expect(await table.locator('tbody tr').count()).toBe(20);
    expect(await harm(page)).toEqual([]);
    expect(await table.innerText()).not.toContain('\u202e');
    expect(problems).toEqual([]);
    await context.close();
});

test('the health of an agent says how its calls ended, what they earned, and why one failed', async () => {
    const creator = await newCreator(network);
    const { agentId } = await creator.list('healthy');
    expect((await execute(agentId)).status).toBe(200);
    expect((await execute(agentId, { max_words: 1 })).status).toBe(500);
    const { page, context, problems } = await open();
    await openAs(page, creator, managePath(agentId, 'calls'));
    await signIn(page);
    await expect.poll(() => part(page, 'Last 24 hours').getByRole('definition').allInnerTexts()).toEqual(['2', '50%', expect.stringMatching(/ m?s$/), expect.stringMatching(/ m?s$/)]);
    await part(page, 'Earnings').getByText('0.0495').first().waitFor();
    const failure = part(page, 'Last failures').getByRole('row').nth(1);
    await failure.getByText('The call failed').waitFor();
    const calls = page.getByRole('table', { name: 'Calls of this agent, newest first' });
    await calls.getByRole('row').nth(2).getByText('0.0495').waitFor();
    expect(await calls.getByRole('row').nth(1).innerText()).toMatch(/Failed\s+The call failed/);
    expect(await calls.getByRole('row').nth(2).innerText()).toMatch(/Completed/);
    // Nobody else learns it.
    const asked = await page.evaluate(async (id) => (await fetch(`/v1/agents/${id}/health`, { credentials: 'omit' })).status, agentId);
    expect(asked).toBe(401);
    expect(problems).toEqual([]);
    await context.close();
});
