// The executions of a wallet from its owner's side: filters, the endless list, CSV, calls that have not ended, and the
// end of an execution without the service.

import { readFileSync } from 'node:fs';

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { chooseAccount } from '../support/account';
import { WIDTHS, useBrowser } from '../support/browser';
import { usdcOf } from '../support/chain';
import { HOSTILE, harm } from '../support/hostile';
import { addMockWallet, behave, callerKey } from '../support/mockWallet';
import { connectNew, signIn } from '../support/newWallet';
import { ownNetwork } from '../support/ownNetwork';
import { askCreator, call, done, follow, openForm, openWithoutService, pay, recordOf } from '../support/runs';

const open = useBrowser();
const network = ownNetwork();
const COUNTER = 10_000n;
const TASK = 'The quick brown fox';

type Row = { execution_id: string; agent_name: string; status: string; initiated_at: string; on_chain_record: string; failure?: string; session_public_key?: string };
type Answer = { executions: Row[]; total: number; next_cursor: string | null };

/** Opens the list of a wallet that has made one call that succeeded and one that was refunded. */
async function openList(page: Page): Promise<{ wallet: string; good: string; bad: string }> {
    await page.goto('/executions');
    const wallet = await connectNew(page);
    await signIn(page);
    await page.getByText('You have not called an agent yet').waitFor();
    const good = await call(page, network);
    const bad = await call(page, network, 'fail');
    await follow(page, 'Executions');
    await page.getByText('2 executions', { exact: true }).waitFor();
    return { wallet, good, bad };
}

/** Counts how often the page asks for the list of executions. */
function countReads(page: Page): () => number {
    let reads = 0;
    page.on('request', (request) => {
        if (request.url().includes('/v1/executions?')) reads += 1;
    });
    return () => reads;
}

/** Sets the page's clock ahead, second by second, until the page has asked again by itself. Returns the seconds. */
async function untilAsked(page: Page, reads: () => number): Promise<number> {
    const before = reads();
    let seconds = 0;
    for (; reads() === before; seconds += 1) {
        await page.clock.runFor(1_000);
        // What is due has its answer before the next second.
        await page.evaluate(() => fetch('/healthz'));
    }
    return seconds;
}

const status = (page: Page, name: string) => page.getByRole('group', { name: 'Status' }).getByRole('button', { name: new RegExp(`^${name}`) });

const linkTo = (page: Page, id: string) => page.getByRole('main').locator(`a[href="/executions/${id}"]`);

test('every filter is in the URL, the total is exact, and the back button undoes the last one', async () => {
    const { page, context, problems } = await open();
    const { good, bad } = await openList(page);
    await status(page, 'Failed').click();
    await page.getByText('1 execution matches').waitFor();
    expect([await linkTo(page, good).count(), await linkTo(page, bad).count()]).toEqual([0, 1]);
    await page.getByText('Agent and exact time').click();
    await page.getByLabel('Agent', { exact: true }).fill('text');
    await page.getByRole('button', { name: new RegExp(`^${network.agents[0]?.name}`) }).click();
    await page.getByText('No execution matches').waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ status: 'failed', agent_id: network.agents[0]?.agent_id });
    await page.goBack();
    await page.getByText('1 execution matches').waitFor();
    await status(page, 'All').click();
    await page.getByText('2 executions', { exact: true }).waitFor();

    await page.getByLabel('Started before').fill('2026-01-01T00:00');
    await page.keyboard.press('Enter');
    await page.getByText('No execution matches').waitFor();
    expect(new URL(page.url()).search).toBe('?to=2026-01-01T00%3A00%3A00Z');
    await page.getByLabel('Started after').fill('2026-01-02T00:00');
    await page.keyboard.press('Enter');
    await page.getByText('nothing can match').waitFor();
    await page.getByRole('button', { name: 'Clear all filters' }).click();
    await page.getByText('2 executions', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Calls of my agents' }).click();
    await page.getByText('Nobody has called your agents yet').waitFor();
    expect(new URL(page.url()).search).toBe('?role=creator');
    await page.reload();
    await page.getByText('Nobody has called your agents yet').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('the list moves by itself when something happens, and does not ask again and again', async () => {
    const { page, context, problems } = await open();
    await page.clock.install();
    await openList(page);
    const reads = countReads(page);
    await untilAsked(page, reads);
    expect(await untilAsked(page, reads)).toBeGreaterThanOrEqual(19);
    // In another tab, with the same session.
    const other = await context.newPage();
    const third = await call(other, network);
    await linkTo(page, third).waitFor({ timeout: 3_000 });
    await page.getByText('3 executions', { exact: true }).waitFor({ timeout: 3_000 });
    expect(problems).toEqual([]);
    await context.close();
});

test('a creator sees the calls of its agents as they are paid for, and the way to each record', async () => {
    const { page, context, problems } = await open();
    await page.clock.install();
    await page.goto('/executions');
    await connectNew(page);
    const id = await call(page, network);
    await page.getByRole('banner').getByRole('button', { name: /^New wallet/ }).click();
    await chooseAccount(page, 'Creator');
    await page.keyboard.press('Escape');
    await page.goto('/executions?role=creator');
    const following = page.waitForResponse('**/v1/events/stream');
    await signIn(page);
    await following;
    const recordLink = (id: string) => page.getByRole('link', { name: `Record of ${id.slice(0, 6)}…${id.slice(-6)} in the explorer` });
    await recordLink(id).waitFor();
    expect(await recordLink(id).getAttribute('href')).toMatch(/^\/explorer\/account\/\w+$/);

    const reads = countReads(page);
    await untilAsked(page, reads);
    expect(await untilAsked(page, reads)).toBeGreaterThanOrEqual(19);
    // By the program of a caller: nothing in this browser knows of the call.
    const called = await fetch(`${network.base_url}/v1/agents/${network.agents[0]?.agent_id}/execute`, {
        method: 'POST',
        headers: { authorization: `Bearer ${network.api_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ task: TASK, parameters: {} }),
    });
    const { execution_id: paid } = (await called.json()) as { execution_id: string };
    // Before the page would ask again by itself.
    await recordLink(paid).waitFor({ timeout: 10_000 });
    expect(problems).toEqual([]);
    await context.close();
});

test('the table is saved with everything that matches', async () => {
    const { page, context, problems } = await open();
    const { good, bad } = await openList(page);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const file = await saving;
    expect(file.suggestedFilename()).toMatch(/^executions-caller-\d{4}-\d\d-\d\d\.csv$/);
    const lines = readFileSync(await file.path(), 'utf8').trim().split('\r\n');
    expect(lines[0]).toBe('execution_id,agent_id,agent_name,status,cost_usdc,initiated_at,completed_at,on_chain_record,creator_amount_usdc,platform_amount_usdc,execution_time_ms,failure,session_public_key,key_name');
    const rows = lines.slice(1).map((line) => line.split(','));
    expect(rows.map(([id, , name, status, cost]) => [id, name, status, cost])).toEqual([
        [bad, network.agents[1]?.name, 'failed', '0'],
        [good, network.agents[0]?.name, 'completed', '0.01'],
    ]);
    await page.getByText('Saved 2 executions.').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

/** Puts a list of so many executions in the place of the service's. */
async function longList(page: Page, total: number, change: Partial<Row> = {}): Promise<{ stall: () => void }> {
    let isStalled = false;
    await page.route(/\/v1\/executions\?/, async (route) => {
        const { searchParams } = new URL(route.request().url());
        const [start, limit] = [Number(searchParams.get('cursor') ?? 0), Number(searchParams.get('limit'))];
        if (isStalled && start > 0) return;
        const executions = Array.from({ length: Math.min(limit, total - start) }, (_, index) => ({
            execution_id: `806e1eba-133b-4100-9a5e-${String(start + index).padStart(12, '0')}`,
            agent_id: network.agents[0]?.agent_id,
            agent_name: 'Name',
            status: 'completed',
            cost_usdc: 0.01,
            initiated_at: '2026-11-20T10:00:00Z',
            completed_at: '2026-11-20T10:00:01.5Z',
            creator_amount_usdc: 0.0099,
            platform_amount_usdc: 0.0001,
            execution_time_ms: 1_500,
            session_public_key: null,
            failure: null,
            on_chain_record: 'https://explorer.example/address/x',
            ...change,
        }));
        const next = start + executions.length;
        const answer: Answer & { limit: number; offset: number } = { executions: executions as Row[], total, limit, offset: 0, next_cursor: next < total ? String(next) : null };
        await route.fulfill({ json: answer });
    });
    return { stall: () => void (isStalled = true) };
}

async function openLong(page: Page, total: number, change: Partial<Row> = {}): Promise<{ stall: () => void }> {
    const list = await longList(page, total, change);
    await page.goto('/executions');
    await connectNew(page);
    await signIn(page);
    await page.getByText(`${total} executions`, { exact: true }).waitFor();
    return list;
}

test('the list goes on by cursor until its end', async () => {
    const { page, context, problems } = await open();
    await openLong(page, 80);
    const all = page.getByText('That is all: 80 executions.');
    await expect
        .poll(
            async () => {
                await page.mouse.wheel(0, 4_000);
                return all.isVisible();
            },
            { timeout: 30_000 },
        )
        .toBe(true);
    const links = await page.locator('tbody a[href^="/executions/"]').evaluateAll((found) => found.map((link) => link.getAttribute('href')));
    expect(new Set(links).size).toBe(80);
    expect(problems).toEqual([]);
    await context.close();
});

test('a long export shows how far it is, can be stopped, and says what it saves', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    const list = await openLong(page, 350);
    list.stall();
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    await page.getByText('100 of 350').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped after 100 of 350. Nothing is saved yet.').waitFor();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save these 100' }).click();
    const file = await saving;
    expect(file.suggestedFilename()).toMatch(/-first-100-of-350\.csv$/);
    expect(readFileSync(await file.path(), 'utf8').trim().split('\r\n')).toHaveLength(101);
    expect(problems).toEqual([]);
    await context.close();
});

/** Puts these totals in the place of the service's. */
async function addTotals(page: Page, agentName: string): Promise<void> {
    const figures = { executions: 3, completed: 2, failed: 1, disputed: 0, paid_usdc: 1234.02, creator_usdc: 1221.68, platform_usdc: 12.34, refunded_usdc: 0.01 };
    const none = { day: null, session_public_key: null, agent_id: null, agent_name: null, status: null };
    const groups: Record<string, object[]> = {
        status: [{ ...none, ...figures, executions: 1, paid_usdc: 0, status: 'failed' }],
        key: [{ ...none, ...figures, session_public_key: network.wallet }, { ...none, ...figures }],
        agent: [{ ...none, ...figures, agent_id: network.agents[0]?.agent_id, agent_name: agentName }],
    };
    await page.route(/\/v1\/executions\/totals\?/, async (route) => {
        const by = new URL(route.request().url()).searchParams.get('by') ?? '';
        await route.fulfill({ json: { from: '', to: '', role: 'caller', by, groups: groups[by], total: figures, truncated: false } });
    });
}

test('a row leads to its execution, its text can be marked, its links do what they say, and the keyboard uses the link', async () => {
    const { page, context, problems } = await open();
    await addTotals(page, 'Name');
    await openLong(page, 3, { failure: 'timeout', session_public_key: network.wallet });
    const row = page.locator('tbody tr').first();
    const reason = row.getByText('The agent did not answer in time').first();
    // Marked text is no press.
    const box = await reason.boundingBox();
    if (box === null) throw new Error('The reason is shown.');
    await page.mouse.move(box.x + 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2, { steps: 5 });
    await page.mouse.up();
    expect(await page.evaluate(() => String(getSelection()))).toContain('did not answer');
    expect(new URL(page.url()).pathname).toBe('/executions');
    // Another tab, as with a link.
    const opening = context.waitForEvent('page');
    await row.getByRole('cell').last().click({ modifiers: ['ControlOrMeta'] });
    const other = await opening;
    await other.waitForURL(/\/executions\/806e1eba/);
    await other.close();
    await row.getByRole('link', { name: 'Name' }).click();
    await page.waitForURL(/\/agents\//);
    await page.goBack();
    await row.getByRole('cell').last().click();
    await page.waitForURL(/\/executions\/806e1eba/);
    await page.goBack();
    await row.getByRole('link', { name: /^Open execution 806e1e/ }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/executions\/806e1eba/);
    expect(problems).toEqual([]);
    await context.close();
});

test('totals stand above the list, a period is one press, and spend by key and agent unfolds', async () => {
    const { page, context, problems } = await open();
    await addTotals(page, 'Name');
    await openLong(page, 3);
    const totals = page.getByRole('region', { name: 'Totals' });
    await totals.getByText('1\u202f234.02 USDC').waitFor();
    await totals.getByText('66.6%').waitFor();
    await status(page, 'Failed 1').waitFor();
    await status(page, 'Running 0').click();
    await totals.getByText('0 USDC').first().waitFor();
    expect(new URL(page.url()).search).toBe('?status=running');
    const period = page.getByRole('group', { name: 'Period' });
    await period.getByRole('button', { name: '7 days' }).press('Enter');
    await page.waitForURL(/from=/);
    expect(await period.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed')).toBe('true');
    const from = new URL(page.url()).searchParams.get('from') ?? '';
    expect(Math.round((new Date().setUTCHours(0, 0, 0, 0) - new Date(from).getTime()) / 86_400_000)).toBe(6);
    await period.getByRole('button', { name: 'All time' }).click();
    await page.waitForURL((url) => !url.searchParams.has('from'));
    await status(page, 'All').click();
    await page.getByText('Spend by API key and by agent').press('Enter');
    await page.getByRole('table', { name: 'What each API key paid' }).getByRole('row').nth(2).getByText('Wallet').waitFor();
    await page.getByRole('table', { name: 'What was paid to each agent' }).getByRole('link', { name: 'Name' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('the list says what each call of this browser was about until the words are removed', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.goto('/executions');
    await connectNew(page);
    await signIn(page);
    await call(page, network);
    await page.goto('/executions');
    const words = page.locator('td:visible').getByText('The quick brown fox jumps over');
    await words.waitFor();
    await page.getByRole('button', { name: 'Remove the texts' }).click();
    await words.waitFor({ state: 'detached' });
    expect(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('crtx.tasks')))).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});

test.each(Object.keys(HOSTILE) as (keyof typeof HOSTILE)[])('an agent, a key, a task and a reason named %s change nothing else in the list', async (kind) => {
    const { page, context, problems } = await open({ width: 'phone' });
    await addTotals(page, HOSTILE[kind]);
    await page.route(/\/v1\/keys\?/, (route) => route.fulfill({ json: { keys: [{ session_public_key: network.wallet, name: HOSTILE[kind] }], total: 1, offset: 0, limit: 100 } }));
    await openLong(page, 3, { agent_name: HOSTILE[kind], failure: HOSTILE[kind], session_public_key: network.wallet, status: 'failed' });
    await page.locator('tbody tr').first().waitFor();
    await page.getByText('Spend by API key and by agent').click();
    await page.getByRole('table', { name: 'What was paid to each agent' }).waitFor();
    expect(await harm(page)).toEqual([]);
    await page.setViewportSize(WIDTHS.desktop);
    expect(await harm(page)).toEqual([]);
    // The words of a task stand where the reason stood.
    await page.evaluate((text) => localStorage.setItem(`crtx.tasks.${(JSON.parse(localStorage.getItem('crtx.wallet') ?? '[]') as string[])[1] ?? ''}`, JSON.stringify([['806e1eba-133b-4100-9a5e-000000000000', text]])), HOSTILE[kind]);
    await page.reload();
    await page.getByRole('columnheader', { name: 'Task' }).waitFor();
    expect(await harm(page)).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});

test('a call that was never paid is shown, can be gone on with, and can be forgotten', async () => {
    const { page, context, problems } = await open();
    await addMockWallet(page, await callerKey(network));
    await page.goto('/executions');
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Mock wallet' }).click();
    await page.keyboard.press('Escape');
    await signIn(page);
    for (const way of ['Continue', 'Discard'] as const) {
        await openForm(page, network, 0);
        await page.getByLabel('What should the agent do?').fill(TASK);
        await behave(page, { transaction: 'reject' });
        const id = await pay(page);
        await page.getByText('You did not sign').waitFor();
        await follow(page, 'Executions');
        await page.getByText('1 call from this browser has not finished').waitFor();
        await page.getByText('You have not paid for it.').waitFor();
        if (way === 'Discard') {
            await page.getByRole('button', { name: 'Discard' }).click();
        } else {
            await page.getByRole('link', { name: /^Continue the call/ }).click();
            await behave(page, { transaction: 'sign' });
            await page.getByRole('button', { name: /Try again|Sign and pay/ }).click();
            await done(page);
            await follow(page, 'Executions');
            await linkTo(page, id).waitFor();
        }
        await page.getByText('has not finished').waitFor({ state: 'detached' });
    }
    expect(problems).toEqual([]);
    await context.close();
});

test('a caller settles with the creator\u2019s signed answer, and the service then has the result', async () => {
    const { page, context, problems } = await open();
    const { wallet, id } = await openWithoutService(page, network, 0, TASK);
    const { roles } = (await (await fetch(`${network.base_url}/v1/network`)).json()) as { roles: { treasury_owner: string } };
    const agent = (await (await fetch(`${network.base_url}/v1/agents/${network.agents[0]?.agent_id}`)).json()) as { creator: { pubkey: string } };
    const holders = [wallet, agent.creator.pubkey, roles.treasury_owner];
    const before = await Promise.all(holders.map(usdcOf));
    expect(before[0]).toBe(1_000_000_000n - COUNTER);
    const answer = await askCreator(network, TASK, id, await recordOf(page, id), wallet);

    await page.getByText('If the service does not end it').click();
    const settle = page.getByRole('button', { name: 'Check, sign and settle' });
    const field = page.getByLabel('Answer of the creator (JSON)');
    await field.fill(answer.replace(id, '806e1eba-133b-4100-9a5e-ddbe7c578906'));
    await settle.click();
    await page.getByText('This answer is for another execution.').waitFor();
    const stranger = await askCreator(network, TASK, id, network.wallet, wallet);
    await field.fill(stranger);
    await settle.click();
    await page.getByText('The call_signature is not for this execution').waitFor();
    expect(await Promise.all(holders.map(usdcOf))).toEqual(before);

    await field.fill(answer);
    await settle.click();
    await done(page);
    const after = await Promise.all(holders.map(usdcOf));
    expect(after.map((amount, index) => amount - (before[index] ?? 0n))).toEqual([0n, COUNTER - COUNTER / 100n, COUNTER / 100n]);
    await page.getByText('top_words').first().waitFor();
    expect(await page.getByRole('link', { name: 'Raise a dispute' }).count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
});

test('a result that was paid can be disputed, from its page', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connectNew(page);
    const id = await call(page, network);
    const link = page.getByRole('link', { name: 'Raise a dispute' });
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe(`/disputes/new?execution=${id}`);
    expect(problems).toEqual([]);
    await context.close();
});
