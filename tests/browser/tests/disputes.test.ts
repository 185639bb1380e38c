// The life of disputes from the side of caller, creator and resolver, with the chain's balances to the base unit.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { rpc, transactionsOf, usdcOf } from '../support/chain';
import { answer, decide, open as show, prepareDecision, raise, raiseButton, signIn } from '../support/disputes';
import { focusOf, keyboard } from '../support/hand';
import { HOSTILE, harm } from '../support/hostile';
import { addMockWallet, asked, behave, callerKey } from '../support/mockWallet';
import { useOwnAgent } from '../support/ownAgent';
import { ownNetwork } from '../support/ownNetwork';
import { actAs, call, connect, done, pay } from '../support/runs';

const open = useBrowser();
const own = useOwnAgent('disputed');
const network = ownNetwork();
/** Of the agent that `crtx agent init` writes. */
const PRICE = 50_000n;
/** Of the local network's parameters. */
const BOND = 100_000n;

type Dispute = {
    dispute: string;
    execution_record: string;
    status: string;
    evidence_hash: string;
    answer_hash: string;
    resolution_hash: string;
    slash_usdc: number;
    compensation_usdc: number;
    penalty_usdc: number;
};

/** The answer of the service to the page's own session. */
const ask = async <T>(page: Page, url: string): Promise<{ status: number; body: T }> =>
    page.evaluate(async (url) => {
        const answer = await fetch(url);
        return { status: answer.status, body: await answer.json() };
    }, url);

const disputeOf = async (page: Page, id: string): Promise<Dispute> => (await ask<Dispute>(page, `/v1/disputes/${id}`)).body;

/** A paid call of the agent of this file. */
async function callOwn(page: Page): Promise<string> {
    await page.goto(`/agents/${own.agentId}/run`);
    await page.getByLabel('What should the agent do?').fill('One two three.');
    const id = await pay(page);
    await done(page);
    return id;
}

/** Caller, creator, escrow and collateral of the agent together, insurance. */
async function balances(): Promise<bigint[]> {
    const { roles } = (await (await fetch(`${network.base_url}/v1/network`)).json()) as { roles: { insurance_owner: string } };
    return Promise.all([network.wallet, own.creator, own.agentId, roles.insurance_owner].map(usdcOf));
}

const change = (before: bigint[], after: bigint[]): bigint[] => after.map((amount, index) => amount - (before[index] ?? 0n));

const document = async (hash: string): Promise<{ text: string; files: { name: string; hash: string }[] }> => {
    const cid = readCid(hash);
    const bytes = Buffer.from(await (await fetch(`${network.base_url}/ipfs/${cid}`)).arrayBuffer());
    expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(hash);
    return JSON.parse(bytes.toString('utf8')) as { text: string; files: { name: string; hash: string }[] };
};

/** A node of which the page hears that the chain is so many days older. */
async function ageChain(page: Page, days: number): Promise<void> {
    await page.route(network.rpc_url, async (route) => {
        const answer = await route.fetch();
        const text = await answer.text();
        // The clock is the account of 40 bytes; its last eight are the time.
        const lie = text.replace(/"([A-Za-z0-9+/]{54}==)"/g, (_, data: string) => {
            const clock = Buffer.from(data, 'base64');
            clock.writeBigInt64LE(clock.readBigInt64LE(32) + BigInt(days * 86_400), 32);
            return JSON.stringify(clock.toString('base64'));
        });
        await route.fulfill({ response: answer, body: lie });
    });
}

/** CID version 1, raw, SHA-256, in base32. */
function readCid(hash: string): string {
    const bits = [...Buffer.from(`01551220${hash.slice(7)}`, 'hex')].map((byte) => byte.toString(2).padStart(8, '0')).join('');
    return `b${(bits.match(/.{1,5}/g) ?? []).map((five) => 'abcdefghijklmnopqrstuvwxyz234567'[parseInt(five.padEnd(5, '0'), 2)]).join('')}`;
}

/** Everything that the service takes as a text; the rest of it is refused before it is handed in. */
const SPOKEN = Object.values(HOSTILE).map((text) => text.replace(/[\u0000-\u0008\u001b]/g, '').slice(0, 2_000));

test('by keyboard alone a dispute is raised with evidence, answered, and upheld; caller and insurance get their parts and the agent is paused', async () => {
    const { page, context, problems } = await open();
    const keys = keyboard(page);
    await page.goto('/');
    await connect(page, keys);
    const id = await callOwn(page);
    const before = await balances();
    const files = [
        { name: '<img src=x onerror="window.pwned=1">.html', mimeType: 'text/html', buffer: Buffer.from(HOSTILE.markup) },
        { name: 'safe\u202egnp.exe', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 255]) },
        { name: 'same.txt', mimeType: 'text/plain', buffer: Buffer.from('one') },
    ];
    const dispute = await raise(page, id, SPOKEN.join('\n'), files, keys);
    // The bond waits in the escrow of the agent.
    expect(change(before, await balances())).toEqual([-BOND, 0n, BOND, 0n]);

    // What the chain names is what was said, with every file.
    const raised = await disputeOf(page, dispute);
    const said = await document(raised.evidence_hash);
    expect(said.text).toBe(SPOKEN.join('\n'));
    expect(said.files.map(({ name }) => name)).toEqual(['<img src=x onerror="window.pwned=1">.html', 'safe_gnp.exe', 'same.txt']);
    expect(said.files.map(({ hash }) => hash)).toEqual(files.map(({ buffer }) => `sha256:${createHash('sha256').update(buffer).digest('hex')}`));
    const { value } = await rpc<{ value: { data: [string, string] } }>('getAccountInfo', [dispute, { encoding: 'base64', commitment: 'confirmed' }]);
    expect(`sha256:${Buffer.from(value.data[0], 'base64').subarray(136, 168).toString('hex')}`).toBe(raised.evidence_hash);

    const statement = page.getByRole('region', { name: 'What the caller says' });
    await statement.getByText('Same as on the chain').waitFor();
    await expect.poll(() => statement.getByText('Hash matches').count()).toBe(3);
    expect(await harm(page)).toEqual([]);
    const [saved] = await Promise.all([page.waitForEvent('download'), keys.press(statement.getByRole('link', { name: /^Save <img/ }))]);
    expect(saved.suggestedFilename()).toMatch(/^[A-Za-z0-9_-]+\.bin$/);
    expect(readFileSync(await saved.path())).toEqual(files[0]?.buffer);

    // Before the answer the resolver can reject alone.
    await show(page, dispute, 'Resolver', keys);
    expect(await page.getByLabel('Uphold: the caller').isDisabled()).toBe(true);
    await page.getByText('The creator can still answer.').waitFor();
    expect(await page.getByLabel('Reject: the creator').isDisabled()).toBe(false);

    await answer(page, dispute, SPOKEN.join('\n\n'), keys);
    await page.getByRole('region', { name: 'What the creator says' }).getByText('Same as on the chain').waitFor();
    expect(await page.getByLabel('Your answer').count()).toBe(0);
    expect(await harm(page)).toEqual([]);

    await prepareDecision(page, dispute, 'The result is empty.', '0.06', keys);
    const preview = page.getByRole('region', { name: 'What happens' });
    expect(await preview.getByRole('definition').allInnerTexts()).toEqual(['0.05 USDC', '0.01 USDC', '10 USDC', '9.94 USDC', '10 USDC']);
    await preview.getByText('This pauses the agent until its creator adds at least 0.06 USDC.').waitFor();
    await decide(page, keys);
    expect(await focusOf(page)).not.toBe('body');
    await page.getByText('Upheld: the caller was right').waitFor();
    expect(change(before, await balances())).toEqual([PRICE, 0n, -60_000n, 10_000n]);
    const decided = await disputeOf(page, dispute);
    expect(decided).toMatchObject({ status: 'upheld', slash_usdc: 0.06, compensation_usdc: 0.05, penalty_usdc: 0.01 });
    expect((await document(decided.resolution_hash)).text).toBe('The result is empty.');
    expect(await transactionsOf(dispute)).toHaveLength(3);
    await page.getByRole('region', { name: 'Facts' }).getByText('Decided').waitFor();
    const agent = (await (await fetch(`${network.base_url}/v1/agents/${own.agentId}`)).json()) as { status: string };
    expect(agent.status).toBe('paused');

    // The caller's execution says so too.
    await actAs(page, 'Caller');
    await page.goto(`/executions/${id}`);
    await signIn(page);
    await page.getByText('You got 0.05 USDC back.').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('a rejected dispute moves the bond back and nothing else, and there is no second one', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.goto('/');
    await connect(page);
    const id = await call(page, network);
    const dispute = await raise(page, id, 'The words are counted wrong.');
    const holders = [network.wallet, network.agents[0]?.agent_id ?? ''];
    const raised = await Promise.all(holders.map(usdcOf));
    await prepareDecision(page, dispute, 'The result is what was asked for.', null);
    await decide(page);
    await page.getByText('Rejected: the result stands').waitFor();
    expect(change(raised, await Promise.all(holders.map(usdcOf)))).toEqual([BOND, -BOND]);
    const decided = await disputeOf(page, dispute);
    expect(decided).toMatchObject({ status: 'rejected', slash_usdc: 0, compensation_usdc: 0 });
    await page.getByRole('region', { name: 'Reasons for the decision' }).getByText('The result is what was asked for.').waitFor();
    await page.getByRole('region', { name: 'Facts' }).getByText('Decision by').waitFor();

    // The proof is there for a resolver, whom the service does not show the execution.
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page.getByText('All 16 checks passed.').waitFor();

    await actAs(page, 'Caller');
    await page.goto(`/disputes/new?execution=${id}`);
    await signIn(page);
    await page.getByText('It can have one dispute').waitFor();
    expect(await raiseButton(page).count()).toBe(0);
    await page.getByRole('link', { name: 'Show the dispute' }).click();
    await page.waitForURL(`**/disputes/${dispute}`);
    expect(problems).toEqual([]);
    await context.close();
});

test('a caller who cancels a dispute has the bond back, and a caller who is found abusive loses it to the creator', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connect(page);
    const ids = [await call(page, network), await call(page, network)];
    const demo = (await (await fetch(`${network.base_url}/v1/agents/${network.agents[0]?.agent_id}`)).json()) as { creator: { pubkey: string } };
    const holders = async () => Promise.all([network.wallet, demo.creator.pubkey, network.agents[0]?.agent_id ?? ''].map(usdcOf));
    const before = await holders();

    const cancelled = await raise(page, ids[0] ?? '', 'I was wrong.');
    // By keyboard alone. Ending it without a decision reaches the program, which knows that the time is not over.
    const keys = keyboard(page);
    await ageChain(page, 31);
    await page.reload();
    await keys.press(page.getByRole('link', { name: 'End it', exact: true }));
    await keys.press(page.getByRole('button', { name: 'End the dispute' }));
    await page.getByText(/^The program refuses this:/).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.reload();
    await keys.press(page.getByRole('button', { name: 'Cancel the dispute' }));
    await page.getByText('The dispute is cancelled.').waitFor();
    expect(await focusOf(page)).not.toBe('body');
    await page.getByText('Cancelled by the caller').waitFor();
    expect(change(before, await holders())).toEqual([0n, 0n, 0n]);
    expect(await disputeOf(page, cancelled)).toMatchObject({ status: 'cancelled', slash_usdc: 0 });
    await page.goto(`/disputes/new?execution=${ids[0]}`);
    await page.getByText('It can have one dispute').waitFor();

    const abusive = await raise(page, ids[1] ?? '', 'I lie.');
    await show(page, abusive, 'Resolver');
    await page.getByLabel('Abusive: the creator').check();
    await page.getByText('The creator also gets the caller’s bond of 0.10 USDC.').waitFor();
    await page.getByLabel('Reasons').fill('The caller has the right result.');
    await decide(page);
    await page.getByText('Rejected as abusive').waitFor();
    expect(change(before, await holders())).toEqual([-BOND, BOND, 0n]);
    expect(await disputeOf(page, abusive)).toMatchObject({ status: 'abusive', slash_usdc: 0 });
    expect(problems).toEqual([]);
    await context.close();
});

test('each party finds a dispute in its list, and a stranger sees nothing of it', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connect(page);
    const dispute = await raise(page, await call(page, network), 'Not what I asked for.');
    const row = () => page.locator('tr', { has: page.locator(`a[href="/disputes/${dispute}"]`) });
    const finds = async (url: string, part: string, waits = 'The creator’s answer'): Promise<void> => {
        await page.goto(url);
        await row().getByText(part, { exact: true }).waitFor();
        await row().getByText(waits).waitFor();
        await row().getByText(/^in (2 d 23 h|3 d)/).waitFor();
    };
    await finds('/disputes', 'Caller');
    await finds('/disputes?role=caller&status=open', 'Caller');
    await page.goto('/disputes?role=creator');
    await page.getByText('There is no dispute').waitFor();
    await page.goto('/disputes?role=resolver');
    await page.getByRole('alert').waitFor();
    expect((await ask(page, '/v1/disputes?role=resolver')).status).toBe(403);

    await actAs(page, 'Creator');
    await page.goto('/disputes');
    await signIn(page);
    await finds('/disputes?role=creator', 'Creator', 'Your answer');
    await actAs(page, 'Resolver');
    await page.goto('/disputes');
    await signIn(page);
    await page.getByRole('link', { name: 'To decide' }).click();
    await page.waitForURL('**/disputes?role=resolver&status=open');
    await row().getByText('Resolver', { exact: true }).waitFor();
    await row().getByRole('link').click();
    await prepareOnPage(page);

    await actAs(page, 'New wallet');
    await page.goto(`/disputes/${dispute}`);
    await signIn(page);
    await page.getByText('This wallet has no such dispute').waitFor();
    expect((await ask(page, `/v1/disputes/${dispute}`)).status).toBe(404);
    await page.goto('/disputes');
    await page.getByText('There is no dispute').waitFor();
    await page.goto('/disputes/not-an-address');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

/** Ends the dispute, so that no queue of another test has it. */
async function prepareOnPage(page: Page): Promise<void> {
    await page.getByLabel('Reject: the creator').check();
    await page.getByLabel('Reasons').fill('It is.');
    await decide(page);
}

test('nothing is signed while something is missing, and a rejected signature leaves the draft', async () => {
    const { page, context, problems } = await open();
    await addMockWallet(page, await callerKey(network));
    await page.goto('/');
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Mock wallet' }).click();
    await page.keyboard.press('Escape');
    const id = await call(page, network);
    await page.goto('/disputes/new');
    await page.getByRole('link', { name: new RegExp(id.slice(0, 8)) }).click();
    const before = await asked(page);
    await raiseButton(page).click();
    await page.getByText('Enter what happened and why.').waitFor();
    await page.getByLabel('What happened').fill('It is wrong.');
    await page.getByLabel('Files that prove it').setInputFiles([{ name: 'big.txt', mimeType: 'text/plain', buffer: Buffer.alloc(1_048_577, 'x') }]);
    await page.getByText(/The files have .* MiB/).waitFor();
    await raiseButton(page).click();
    expect(await asked(page)).toBe(before);
    await page.getByRole('button', { name: 'Remove big.txt' }).click();

    await behave(page, { transaction: 'reject' });
    await raiseButton(page).click();
    await page.getByText('You did not sign').waitFor();
    expect(await page.getByLabel('What happened').inputValue()).toBe('It is wrong.');
    await behave(page, { transaction: 'sign' });
    // By keyboard, and pressed twice.
    await raiseButton(page).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What the caller says' }).waitFor();
    expect(await asked(page)).toBe(before + 2);
    const dispute = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect(await transactionsOf(dispute)).toHaveLength(1);
    expect(problems).toEqual([]);
    await context.close();
});

test('a read in the background that fails leaves the form with its text and its focus', async () => {
    const { page, context } = await open();
    await page.goto('/');
    await connect(page);
    const id = await call(page, network);
    await page.clock.install();
    await page.goto(`/disputes/new?execution=${id}`);
    const field = page.getByLabel('What happened');
    await field.fill('It is wrong.');
    await page.route(network.rpc_url, (route) => route.abort());
    // Longer than the page waits before it reads the record again.
    const [failed] = await Promise.all([page.waitForEvent('requestfailed'), page.clock.runFor(61_000)]);
    expect(failed.url()).toContain(network.rpc_url);
    await page.clock.runFor(1_000);
    expect(await field.inputValue()).toBe('It is wrong.');
    expect(await field.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await context.close();
});

test('evidence that was altered or lost is not shown as evidence', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connect(page);
    const dispute = await raise(page, await call(page, network), 'This is what happened.');
    const url = `**/ipfs/${readCid((await disputeOf(page, dispute)).evidence_hash)}`;
    const statement = page.getByRole('region', { name: 'What the caller says' });
    await page.route(url, async (route) => {
        const answer = await route.fetch();
        return route.fulfill({ response: answer, body: (await answer.text()).replace('happened', 'HAPPENED') });
    });
    await page.reload();
    await statement.getByText('Not what the chain names').waitFor();
    expect(await statement.getByText('This is what').count()).toBe(0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.route(url, (route) => route.fulfill({ status: 404, json: {} }));
    await page.reload();
    await statement.getByText('Not stored here', { exact: true }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await statement.getByRole('button', { name: 'Look again' }).click();
    await statement.getByText('Same as on the chain').waitFor();
    await statement.getByText('This is what happened.').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('what strangers and a lying service write is text, and the chain has the last word', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.goto('/');
    await connect(page);
    const dispute = await raise(page, await call(page, network), 'x');
    const honest = await disputeOf(page, dispute);
    for (const text of Object.values(HOSTILE)) {
        const lie = { ...honest, agent_name: text, evidence_uri: text, status: 'upheld', amount_usdc: 7, compensation_usdc: 7 };
        const list = { disputes: [lie], total: 1, limit: 20, offset: 0, next_cursor: null };
        await page.route('**/v1/disputes**', (route) => route.fulfill({ json: new URL(route.request().url()).pathname.endsWith('disputes') ? list : lie }));
        await page.goto('/disputes');
        await page.getByRole('row').nth(1).waitFor();
        expect(await harm(page)).toEqual([]);
        await page.goto(`/disputes/${dispute}`);
        await page.getByRole('region', { name: 'Facts' }).getByText('Open', { exact: true }).waitFor();
        await page.getByRole('region', { name: 'Facts' }).getByText('0.01 USDC').waitFor();
        expect(await page.getByText('Upheld: the caller was right').count()).toBe(0);
        expect(await harm(page)).toEqual([]);
        await page.unrouteAll({ behavior: 'ignoreErrors' });
    }
    expect(problems).toEqual([]);
    await context.close();
});
