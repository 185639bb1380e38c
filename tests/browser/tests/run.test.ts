// Run and Verify from the user's side, with the chain's balances to the base unit.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { expect, test } from 'vitest';

import { chooseAccount } from '../support/account';
import { base58 } from '../support/base58';
import { useBrowser } from '../support/browser';
import { rpc, transactionsOf, usdcOf } from '../support/chain';
import { HOSTILE, harm } from '../support/hostile';
import { addMockWallet, asked, behave, callerKey } from '../support/mockWallet';
import { ownNetwork } from '../support/ownNetwork';
import { call, connect, done, openForm, pay, payButton, verify } from '../support/runs';

const open = useBrowser();
const network = ownNetwork();
const PRICE = 10_000n;

type Execution = { result_hash: string; ipfs_url: string; on_chain_record: string };

/** The answer of the service to the page's own session. */
const executionOf = async (page: import('playwright-core').Page, id: string): Promise<Execution> =>
    (await page.evaluate(async (id) => (await fetch(`/v1/executions/${id}`)).json(), id)) as Execution;

const recordOf = ({ on_chain_record: link }: Execution): string => new URL(link).pathname.split('/').at(-1) ?? '';

test('a call pays creator and treasury to the base unit, once, and verifies until its content is altered', async () => {
    const { page, context, problems } = await open();
    const roles = ((await (await fetch(`${network.base_url}/v1/network`)).json()) as { roles: { treasury_owner: string } }).roles;
    const agent = (await (await fetch(`${network.base_url}/v1/agents/${network.agents[0]?.agent_id}`)).json()) as { creator: { pubkey: string } };
    const holders = [network.wallet, agent.creator.pubkey, roles.treasury_owner];
    await page.goto('/');
    await connect(page);
    const before = await Promise.all(holders.map(usdcOf));
    const id = await call(page, network);
    const after = await Promise.all(holders.map(usdcOf));
    expect(after.map((amount, index) => amount - (before[index] ?? 0n))).toEqual([-PRICE, PRICE - PRICE / 100n, PRICE / 100n]);
    await page.getByRole('button', { name: /top_words.*5 entries/ }).waitFor();

    const execution = await executionOf(page, id);
    expect(await transactionsOf(recordOf(execution))).toHaveLength(2);
    expect(await verify(page)).toEqual({ verdict: expect.stringMatching(/^Verified/), passed: 16, failed: [] });

    const file = path.join(network.content_dir, execution.ipfs_url.split('/').at(-1) ?? '');
    const content = readFileSync(file);
    writeFileSync(file, content.toString('utf8').replace('{', '{ '));
    const altered = await verify(page);
    writeFileSync(file, content);
    expect(altered).toEqual({ verdict: expect.stringMatching(/^NOT verified/), passed: 15, failed: ['The stored content has the stated hash'] });
    expect(await verify(page)).toMatchObject({ passed: 16, failed: [] });
    expect(problems).toEqual([]);
    await context.close();
});

test('a refunded call says what happened and where the money is, and the refund verifies', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connect(page);
    const before = await usdcOf(network.wallet);
    await call(page, network, 'bad_signature');
    expect(await usdcOf(network.wallet)).toBe(before);
    await page.getByText('0.02 USDC went from the escrow back to your wallet').waitFor();
    expect(await verify(page)).toEqual({ verdict: expect.stringMatching(/^Verified/), passed: 6, failed: [] });
    await page.getByRole('link', { name: 'Run again with changes' }).click();
    await page.getByLabel(/^behaviour/).waitFor();
    expect(await page.getByLabel(/^behaviour/).locator('option:checked').innerText()).toBe('bad_signature');
    expect(problems).toEqual([]);
    await context.close();
});

test('parameters are checked before anything is signed', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connect(page);
    await openForm(page, network, 0);
    await page.getByLabel(/^top_words/).fill('51');
    await payButton(page).click();
    await page.getByText('Enter what the agent should do.').waitFor();
    await page.getByLabel('What should the agent do?').fill('x');
    await payButton(page).click();
    await page.getByRole('alert').getByText(/top_words/).waitFor();
    expect(await page.getByLabel(/^top_words/).getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    await page.getByLabel('Parameters as JSON').fill('{"other": 1}');
    await payButton(page).click();
    await page.getByText('This is not allowed here.').waitFor();
    expect(page.url()).toContain('/agents/');
    expect(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('crtx.call')))).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});

test('a rejected signature costs nothing, and the same call can be signed after a reload', async () => {
    const { page, context, problems } = await open();
    await addMockWallet(page, await callerKey(network));
    await page.goto('/');
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Mock wallet' }).click();
    await page.keyboard.press('Escape');
    const before = await usdcOf(network.wallet);
    await openForm(page, network, 0);
    await page.getByLabel('What should the agent do?').fill('one two three');
    await behave(page, { transaction: 'reject' });
    const id = await pay(page);
    await page.getByText('You did not sign').waitFor();
    expect([await usdcOf(network.wallet), await asked(page)]).toEqual([before, 1]);

    await page.reload();
    await page.getByText('Not paid yet').waitFor();
    expect(await asked(page)).toBe(0);
    await page.getByRole('button', { name: /^Sign and pay/ }).click();
    await done(page);
    expect(new URL(page.url()).pathname).toBe(`/executions/${id}`);
    expect([await usdcOf(network.wallet), await asked(page)]).toEqual([before - PRICE, 1]);
    expect(problems).toEqual([]);
    await context.close();
});

test('a transaction that the network did not take in time pays nothing, and the same call can be signed again', async () => {
    const { page, context } = await open();
    await page.goto('/');
    await connect(page);
    const before = await usdcOf(network.wallet);
    await openForm(page, network, 0);
    await page.getByLabel('What should the agent do?').fill('one two three');
    // The network loses the transaction, and goes on for longer than its blockhash holds.
    await page.route(`${network.rpc_url}/**`, async (route) => {
        const { method, id, params } = route.request().postDataJSON() as { method: string; id: unknown; params: [string] };
        if (method === 'sendTransaction') {
            const signature = base58(Buffer.from(params[0], 'base64').subarray(1, 65));
            return route.fulfill({ json: { jsonrpc: '2.0', id, result: signature } });
        }
        const answer = await route.fetch();
        if (method !== 'getBlockHeight') return route.fulfill({ response: answer });
        const body = (await answer.json()) as { result: number };
        return route.fulfill({ response: answer, json: { ...body, result: body.result + 1_000 } });
    });
    const id = await pay(page);
    await page.getByText('The signature has expired').waitFor();
    expect(await usdcOf(network.wallet)).toBe(before);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.getByRole('button', { name: /^(Sign and pay|Try again)/ }).click();
    await done(page);
    expect(new URL(page.url()).pathname).toBe(`/executions/${id}`);
    expect(await usdcOf(network.wallet)).toBe(before - PRICE);
    await context.close();
});

test('a connection that breaks after the signature never pays twice', async () => {
    const { page, context } = await open();
    await page.goto('/');
    await connect(page);
    const before = await usdcOf(network.wallet);
    await openForm(page, network, 0);
    await page.getByLabel('What should the agent do?').fill('four five');
    // The node takes the transaction, and then neither it nor the service answers.
    let isCut = false;
    await page.route(`${network.rpc_url}/**`, async (route) => {
        if (isCut) return route.abort();
        const isSending = route.request().postData()?.includes('sendTransaction') ?? false;
        if (!isSending) return route.continue();
        await route.fetch();
        isCut = true;
        return route.abort();
    });
    await page.route('**/dispatch', (route) => (isCut ? route.abort() : route.continue()));
    await pay(page);
    await page.getByText('It is not known yet whether you paid').waitFor();
    isCut = false;
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.reload();
    await done(page);
    expect(await usdcOf(network.wallet)).toBe(before - PRICE);
    await context.close();
});

test('a wallet without money, of another network, or of the creator has a way on', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Local test wallet' }).click();
    await chooseAccount(page, 'New wallet');
    await page.keyboard.press('Escape');
    await openForm(page, network, 0);
    await page.getByText('Too little USDC').waitFor();
    await page.getByText('Too little SOL').waitFor();
    expect(await payButton(page).isEnabled()).toBe(false);
    await page.getByRole('button', { name: /^Get 1/ }).first().click();
    await page.getByText('Too little USDC').waitFor({ state: 'detached' });
    await expect.poll(() => payButton(page).isEnabled()).toBe(true);
    expect(problems).toEqual([]);
    await context.close();

    const other = await open();
    await addMockWallet(other.page, await callerKey(network));
    await other.page.goto(`/agents/${network.agents[0]?.agent_id}/run`);
    await behave(other.page, { chains: ['solana:mainnet'] });
    await other.page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await other.page.getByRole('button', { name: 'Mock wallet' }).click();
    await other.page.getByText('Wrong network in your wallet').waitFor();
    await other.context.close();
});

test('a hostile schema makes a form of texts, and cannot hold the page up', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.goto('/');
    await connect(page);
    const url = `/v1/agents/${network.agents[0]?.agent_id}`;
    const agent = (await (await fetch(network.base_url + url)).json()) as object;
    const member = { type: 'string', title: HOSTILE.markup, description: HOSTILE.link };
    const properties = {
        ...Object.fromEntries(Object.values(HOSTILE).map((text) => [text, member])),
        choice: { enum: Object.values(HOSTILE).slice(0, -1), title: HOSTILE.direction },
        list: { type: 'array', items: { $ref: '#' }, title: HOSTILE.invisible },
        slow: { type: 'string', pattern: '^(a|a)*(a|a)*(a|a)*$' },
    };
    const input_schema = { type: 'object', properties };
    await page.route(`**${url}`, (route) => route.fulfill({ json: { ...agent, name: HOSTILE.markup, tagline: HOSTILE.link, input_schema } }));
    await openForm(page, network, 0);
    expect(await harm(page)).toEqual([]);
    await page.getByLabel('What should the agent do?').fill('x');
    await page.getByLabel(/^slow/).fill(`${'a'.repeat(60)}b`);
    await payButton(page).click();
    await page.getByText('takes too long to check').waitFor();
    expect(page.url()).toContain('/agents/');
    expect(await harm(page)).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});

test('hostile results and steps are text', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.goto('/');
    await connect(page);
    const id = await call(page, network);
    const honest = await executionOf(page, id);
    const tree = JSON.stringify({ ...HOSTILE, [HOSTILE.markup]: [HOSTILE.direction, { [HOSTILE.word]: HOSTILE.link }] });
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    for (const result of [tree, ...Object.values(HOSTILE), deep]) {
        const steps = [HOSTILE, ...Object.values(HOSTILE), JSON.parse(`${'['.repeat(400)}1${']'.repeat(400)}`)];
        await page.route(`**/v1/executions/${id}`, (route) => route.fulfill({ json: { ...honest, agent_name: HOSTILE.markup, result, steps } }));
        await page.goto(`/executions/${id}`);
        await page.getByRole('heading', { name: 'Result' }).waitFor();
        await page.getByRole('heading', { name: 'Steps' }).waitFor();
        expect(await harm(page)).toEqual([]);
        await page.unrouteAll({ behavior: 'ignoreErrors' });
    }
    // A service that lies about the result is found out.
    await page.route(`**/v1/executions/${id}`, (route) => route.fulfill({ json: { ...honest, result: 'another result' } }));
    await page.goto(`/executions/${id}`);
    expect(await verify(page)).toMatchObject({ failed: ['The result on this page has the stated hash'] });
    expect(problems).toEqual([]);
    await context.close();
});

test('an execution is shown to its wallet alone', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connect(page);
    const id = await call(page, network);
    const record = recordOf(await executionOf(page, id));
    expect((await rpc<{ value: object | null }>('getAccountInfo', [record, { encoding: 'base64' }])).value).not.toBeNull();
    await context.close();
    const other = await open();
    await other.page.goto(`/executions/${id}`);
    await other.page.getByText('Only the wallet that paid for an execution can see it').waitFor();
    await connect(other.page);
    await other.page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
    await done(other.page);
    await other.page.goto('/executions/not-an-id');
    await other.page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    expect([...problems, ...other.problems]).toEqual([]);
    await other.context.close();
});
