// Listing an agent, changing it and testing its service, from the creator's side, with balances to the base unit.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { transactionsOf, usdcOf } from '../support/chain';
import { savedFile, startLiar, startService } from '../support/creatorService';
import { HOSTILE, harm } from '../support/hostile';
import { FIELDS, connectAs, lamportsOf, listButton, listUntested, listedAgent, openDraft, rentOf, termsOf } from '../support/listing';
import { connectNew, signIn } from '../support/newWallet';
import { addMockWallet, asked, behave, callerKey } from '../support/mockWallet';
import { ownNetwork } from '../support/ownNetwork';

const open = useBrowser();
const network = ownNetwork();
const USDC = 1_000_000n;
const START = 1_000n * USDC;
const FEE = 5_000n;
/** Listing, escrow and collateral account. */
const ACCOUNTS = [472, 165, 165];
const PROFILE = 184;

let folder: string;
beforeAll(() => void (folder = mkdtempSync(path.join(tmpdir(), 'crtx-keys-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Shown = { name: string; tags: string[]; price_per_call_usdc: number; timeout_seconds: number; binding: boolean; description: string };
const shown = async (agentId: string): Promise<Shown> => (await (await fetch(`${network.base_url}/v1/agents/${agentId}`)).json()) as Shown;

test('an agent is listed step by step with a key of this browser, and answers paid calls', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    const wallet = await connectNew(page);
    const next = page.getByRole('button', { name: 'Next' });
    await page.goto('/creator/new');

    await page.getByLabel('Name').fill(FIELDS.name);
    await page.getByLabel('Tagline').fill(FIELDS.tagline);
    await page.getByLabel('Description').fill(FIELDS.description);
    await page.getByRole('checkbox', { name: 'data' }).check();
    await page.getByLabel('A tag of your own').fill('BrowserTest');
    await page.keyboard.press('Enter');
    await page.getByText('2 of 5 chosen').waitFor();
    await next.click();

    await page.getByLabel('Input schema', { exact: true }).fill(FIELDS.inputSchema);
    await page.getByLabel('Output schema', { exact: true }).fill(FIELDS.outputSchema);
    await page.getByLabel(/^max_words/).waitFor();
    await next.click();

    await page.getByLabel('Price of one call').fill('0.05');
    await page.getByText('0.0495 USDC').waitFor();
    await page.getByRole('row', { name: /10 USDC – this price/ }).waitFor();
    await page.getByText('200 calls').waitFor();
    await page.getByLabel('Time-out').fill('30');
    await next.click();

    const keyFile = await savedFile(page, () => page.getByRole('button', { name: 'Make a new key' }).click(), folder);
    const service = await startService(keyFile);
    await page.getByLabel('Endpoint').fill(service.endpoint);
    await page.reload();
    // What was written is still there; the secret key is nowhere.
    expect(await page.getByLabel('Endpoint').inputValue()).toBe(service.endpoint);
    await page.getByText('Is the file of this key saved?').waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toMatch(/\d+(,\s?\d+){20}/);
    await page.getByLabel('I saved the file of this key').check();
    await next.click();

    await signIn(page);
    await page.getByLabel('A task that your agent completes').fill('One two three.');
    await page.getByLabel('Also send a request that my agent must refuse').check();
    await page.getByLabel('The task that it refuses').fill('One two three.');
    await page.getByLabel('Its parameters as JSON').fill('{"max_words": 1}');
    await page.getByRole('button', { name: 'Test the endpoint' }).click();
    await page.getByText('Your service passes the test').waitFor();
    expect(await page.getByRole('list', { name: 'Checks' }).getByRole('heading').count()).toBe(31);
    await next.click();

    await page.getByText('What it costs').waitFor();
    await listButton(page).click();
    const agentId = await listedAgent(page);
    const rent = await rentOf(...ACCOUNTS, PROFILE);
    expect(await usdcOf(wallet)).toBe(START - 10n * USDC);
    expect(await lamportsOf(wallet)).toBe(10_000_000_000n - rent - FEE);
    expect(await shown(agentId)).toMatchObject({
        name: FIELDS.name,
        description: FIELDS.description,
        tags: ['data', 'browsertest'],
        price_per_call_usdc: 0.05,
        timeout_seconds: 30,
        binding: true,
    });

    // A reload shows the same agent and no form that would list it again.
    await page.reload();
    await page.getByText('Your agent is listed').waitFor();
    expect(await transactionsOf(agentId)).toHaveLength(1);

    const answer = await fetch(`${network.base_url}/v1/agents/${agentId}/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${network.api_key}` },
        body: JSON.stringify({ task: 'four words are here' }),
    });
    expect([answer.status, ((await answer.json()) as { result: string }).result]).toEqual([200, '{"words":4,"characters":19}']);
    expect(await usdcOf(wallet)).toBe(START - 10n * USDC + 49_500n);
    await page.getByRole('button', { name: 'List another agent' }).click();
    await page.getByRole('heading', { name: 'Details' }).waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('');
    await service.stop();
    expect(problems).toEqual([]);
    await context.close();
});

test('a step says what is wrong at its fields and does not lead on', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    await page.goto('/');
    await connectAs(page, 'New wallet');
    await page.goto('/creator/new');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Give the agent a name.').waitFor();
    await page.getByText('Choose at least one tag').waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-invalid'))).toBe('true');
    await page.getByLabel('Name').fill('x'.repeat(81));
    await page.getByText('This has 81 characters; at most 80 are accepted.').waitFor();
    await page.getByRole('navigation', { name: 'Steps' }).getByRole('link', { name: 'Price' }).click();
    await page.getByLabel('Price of one call').fill('0.0000001');
    await page.getByLabel('Time-out').fill('901');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('USDC has at most six decimals.').waitFor();
    await page.getByText('Write a whole number of seconds from 1 to 900.').waitFor();
    await page.getByRole('navigation', { name: 'Steps' }).getByRole('link', { name: 'Service' }).click();
    await page.getByLabel('Or paste the public key').fill('11111111111111111111111111111111');
    await page.getByText('Anybody can sign for this key').waitFor();
    await page.getByLabel('Endpoint').fill('ftp://a.example');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Write a URL that begins with').waitFor();
    await page.getByRole('navigation', { name: 'Steps' }).getByRole('link', { name: 'Review' }).click();
    await page.getByText('Something is missing').waitFor();
    expect(await listButton(page).count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
});

test.each([
    { case: 'no JSON', schema: '{"type": ', says: 'This is not JSON' },
    { case: 'no schema', schema: '[]', says: 'A schema is a JSON object' },
    { case: 'an unknown type', schema: '{"type": "text"}', says: 'type must be one of null, boolean' },
    { case: 'a member twice', schema: '{"type": "object", "type": "object"}', says: 'appears twice' },
    { case: 'a reference to another document', schema: '{"$ref": "https://a.example/x"}', says: 'leads to no schema of this document' },
    { case: 'a reference to itself', schema: '{"$ref": "#"}', says: 'leads back to itself' },
    { case: 'look-around', schema: '{"pattern": "(?=a)b"}', says: 'look around' },
    { case: 'an unknown draft', schema: '{"$schema": "https://json-schema.org/draft/2030-01/schema"}', says: 'Accepted are draft 4' },
])('a schema with $case is refused while it is written', async ({ schema, says }) => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connectAs(page, 'New wallet');
    await page.goto('/creator/new?step=schemas');
    const editor = page.getByLabel('Input schema', { exact: true });
    await editor.fill(schema);
    await page.getByText(says).first().waitFor();
    expect(await editor.getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Schemas' }).waitFor();
    await page.getByRole('button', { name: 'Use an example as the input schema' }).click();
    await page.getByLabel('language').waitFor();
    expect(await editor.getAttribute('aria-invalid')).toBeNull();
    expect(problems).toEqual([]);
    await context.close();
});

test('what only the service can refuse is said at its field, and nothing is locked', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    const wallet = await connectNew(page);
    await openDraft(page, wallet, 'review', { outputSchema: '{"type": "string", "pattern": "^(a{1000}){1000}$"}' });
    await signIn(page);
    await page.getByLabel('List it without a passed test').check();
    await listButton(page).click();
    await page.getByText('The service does not accept the document').waitFor();
    await page.getByText('regular expression').last().waitFor();
    expect([await usdcOf(wallet), await lamportsOf(wallet)]).toEqual([START, 10_000_000_000n]);
    expect(problems).toEqual([]);
    await context.close();
});

test('a wallet without money learns what is missing and gets it', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    const wallet = await connectAs(page, 'New wallet');
    await openDraft(page, wallet, 'review');
    await page.getByText('Too little USDC').waitFor();
    await page.getByText('Too little SOL').waitFor();
    await signIn(page);
    await page.getByLabel('List it without a passed test').check();
    expect(await listButton(page).isEnabled()).toBe(false);
    await page.getByRole('main').getByRole('button', { name: /^Get 1/ }).first().click();
    await expect.poll(() => listButton(page).isEnabled(), { timeout: 30_000 }).toBe(true);
    expect(problems).toEqual([]);
    await context.close();
});

test('a rejected signature locks nothing, and the draft is still there', async () => {
    const { page, context, problems } = await open();
    await addMockWallet(page, await callerKey(network));
    await page.goto('/');
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Mock wallet' }).click();
    await page.keyboard.press('Escape');
    const before = await usdcOf(network.wallet);
    await openDraft(page, network.wallet, 'review');
    await behave(page, { transaction: 'reject' });
    await signIn(page);
    await page.getByLabel('List it without a passed test').check();
    await listButton(page).click();
    await page.getByText('You did not sign').waitFor();
    expect([await usdcOf(network.wallet), await asked(page)]).toEqual([before, 1]);
    await page.reload();
    await expect.poll(() => listButton(page).count()).toBe(1);
    expect(await asked(page)).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
});

test('a connection that breaks after the signature never lists twice', async () => {
    const { page, context } = await open();
    await page.goto('/');
    const wallet = await connectNew(page);
    await openDraft(page, wallet, 'review');
    await signIn(page);
    await page.getByLabel('List it without a passed test').check();
    // The node takes the transaction, and then it does not answer.
    let isCut = false;
    await page.route(`${network.rpc_url}/**`, async (route) => {
        if (isCut) return route.abort();
        if (!(route.request().postData()?.includes('sendTransaction') ?? false)) return route.continue();
        await route.fetch();
        isCut = true;
        return route.abort();
    });
    await listButton(page).click();
    await page.getByText('It is not known yet whether it happened').waitFor();
    isCut = false;
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.reload();
    await listedAgent(page);
    expect(await usdcOf(wallet)).toBe(START - 10n * USDC);
    const { agents_total } = (await (await fetch(`${network.base_url}/v1/wallets/${wallet}`)).json()) as { agents_total: number };
    expect(agents_total).toBe(1);
    await context.close();
});

test('an edit shows its difference, sends what is changed, and adds the collateral of a higher price', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    const wallet = await connectNew(page);
    await openDraft(page, wallet, 'review');
    const agentId = await listUntested(page);
    const before = await termsOf(agentId);
    expect(before.minCover).toBe(1);
    await page.goto(`/creator/agents/${agentId}/edit`);
    await page.getByText('Nothing is changed yet.').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe(FIELDS.name);

    await page.getByLabel('Price of one call').fill('0.50');
    const change = page.getByRole('complementary', { name: 'Changes' });
    await change.getByText('0.05', { exact: true }).waitFor();
    await change.getByText('0.50', { exact: true }).waitFor();
    await change.getByText('40 USDC move from your wallet').waitFor();
    // The promised cover has its own need: 200 calls of 0.50 USDC.
    await page.getByRole('textbox', { name: 'Promised cover' }).fill('200');
    await change.getByText('90 USDC move from your wallet').waitFor();
    await page.getByRole('textbox', { name: 'Promised cover' }).fill('2');
    // A reload loses nothing.
    await page.reload();
    await change.getByRole('button', { name: 'Add 40 USDC and save' }).click();
    await change.getByText('The listing is changed.').waitFor();
    await change.getByText('Nothing is changed yet.').waitFor();
    expect(await termsOf(agentId)).toEqual({ ...before, price: 500_000n, minCover: 2, collateral: 50n * USDC });
    expect(await usdcOf(wallet)).toBe(START - 50n * USDC);
    expect(await transactionsOf(agentId)).toHaveLength(2);

    // A schema with other indentation is no change; a lower price takes no money.
    await page.getByLabel('Input schema', { exact: true }).fill(JSON.stringify(JSON.parse(FIELDS.inputSchema)));
    await page.getByLabel('Price of one call').fill('0.02');
    await page.getByLabel('Time-out').fill('45');
    await page.getByLabel('Tagline').fill('Counts words.');
    await change.getByText('Counts words.').waitFor();
    await change.getByText('stays locked until the agent is delisted').waitFor();
    expect(await change.getByRole('group').count()).toBe(3);
    await change.getByRole('button', { name: 'Sign and save' }).click();
    await change.getByText('The service shows it as it is on chain').waitFor();
    expect(await usdcOf(wallet)).toBe(START - 50n * USDC);
    const after = await termsOf(agentId);
    expect(after).toMatchObject({ price: 20_000n, timeout: 45, collateral: 50n * USDC, resultKey: before.resultKey });
    expect(after.document).not.toBe(before.document);
    expect(await shown(agentId)).toMatchObject({ name: FIELDS.name, price_per_call_usdc: 0.02, timeout_seconds: 45, description: FIELDS.description });
    expect(problems).toEqual([]);
    await context.close();
});

test('a change that somebody else made meanwhile is seen before the signature', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    const wallet = await connectNew(page);
    await openDraft(page, wallet, 'review');
    const agentId = await listUntested(page);
    const other = await context.newPage();
    for (const tab of [page, other]) {
        await tab.goto(`/creator/agents/${agentId}/edit`);
        await tab.getByText('Nothing is changed yet.').waitFor();
    }
    await other.getByLabel('Time-out').fill('77');
    await other.getByRole('button', { name: 'Sign and save' }).click();
    await other.getByText('The listing is changed.').waitFor();
    // The node is slow, so the page may not have read the chain again by the second press.
    await page.route(`${network.rpc_url}/**`, async (route) => {
        await sleep(500);
        await route.continue();
    });
    await page.getByLabel('Price of one call').fill('0.06');
    // Whether the page has read the chain again or the signature finds it: the time-out stays.
    const save = page.getByRole('button', { name: 'Sign and save' });
    await save.click();
    await page.getByText(/The listing has changed since|The listing is changed\./).waitFor();
    if (!(await page.getByText('The listing is changed.').isVisible())) await save.click();
    await page.getByText('The listing is changed.').waitFor();
    expect(await termsOf(agentId)).toMatchObject({ price: 60_000n, timeout: 77 });
    expect(problems).toEqual([]);
    await context.close();
});

test('an agent of another wallet, a missing one and no address have their own words', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    await connectAs(page, 'Caller');
    for (const name of ['edit', 'test']) {
        await page.goto(`/creator/agents/${network.agents[0]?.agent_id}/${name}`);
        await page.getByText('This agent belongs to another wallet').waitFor();
        await page.goto(`/creator/agents/${network.wallet}/${name}`);
        await page.getByText('There is no such agent').waitFor();
        await page.goto(`/creator/agents/no-address/${name}`);
        await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    }
    expect(problems).toEqual([]);
    await context.close();
});

test('a test says what was expected, which bytes were received, and how to mend it', async () => {
    const { page, context, problems } = await open();
    await page.goto('/');
    const wallet = await connectNew(page);
    await page.goto('/creator/new?step=service');
    const keyFile = await savedFile(page, () => page.getByRole('button', { name: 'Make a new key' }).click(), folder);
    const service = await startService(keyFile);
    // The listing names another key than the one of the service.
    await openDraft(page, wallet, 'review', { endpoint: service.endpoint });
    const agentId = await listUntested(page);
    await page.goto(`/creator/agents/${agentId}/test`);
    await page.getByLabel('A task that your agent completes').fill('one two');
    await page.getByRole('button', { name: 'Test the endpoint' }).click();
    await page.getByText(/^Your service fails \d+ checks?$/).waitFor();
    const wrong = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: /The signature is made with the result key FAILED/ }) });
    await wrong.getByText('Expected', { exact: true }).waitFor();
    await wrong.getByText('Received', { exact: true }).waitFor();
    await wrong.getByText('How to fix it', { exact: true }).waitFor();
    expect(await wrong.innerText()).toMatch(/[0-9a-f]{16}|[1-9A-HJ-NP-Za-km-z]{32}/);

    // Another endpoint is tested without a change of the listing; the inputs are still there after a reload.
    await service.stop();
    await page.reload();
    expect(await page.getByLabel('A task that your agent completes').inputValue()).toBe('one two');
    await page.getByRole('button', { name: 'Test the endpoint' }).click();
    await page.getByRole('heading', { name: /The endpoint can be reached FAILED/ }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('hostile answers of a service are text in its report', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    const liar = await startLiar(JSON.stringify({ ...HOSTILE, execution_id: HOSTILE.markup, status: HOSTILE.direction, result: HOSTILE.invisible }));
    await page.goto('/');
    await connectAs(page, 'Creator');
    await page.goto(`/creator/agents/${network.agents[0]?.agent_id}/test`);
    await signIn(page);
    await page.getByLabel('Endpoint').fill(liar.endpoint);
    await page.getByLabel('A task that your agent completes').fill('one two');
    await page.getByRole('button', { name: 'Test the endpoint' }).click();
    await page.getByText(/^Your service fails/).waitFor();
    expect(await harm(page)).toEqual([]);
    await liar.stop();
    expect(problems).toEqual([]);
    await context.close();
});
