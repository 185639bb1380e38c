// The flows of the dashboard with wallets as people have them: an agent is listed, a call is paid, a key is made, a call is
// settled, a result is disputed. What the wallets do to a transaction is in `walletBehaviours`.

import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { walletBehaviours } from '../../../app/tests/support/walletBehaviours';
import { useBrowser } from '../support/browser';
import { usdcOf } from '../support/chain';
import { openAs } from '../support/creatorPages';
import { type Creator, useCreators } from '../support/creators';
import { raiseButton } from '../support/disputes';
import { fillKey, takeKey } from '../support/keys';
import { listButton, listedAgent, openDraft } from '../support/listing';
import { type MockOptions, asked, behave } from '../support/mockWallet';
import { signIn } from '../support/newWallet';
import { ownNetwork } from '../support/ownNetwork';
import { askCreator, call, done, openForm, pay, payButton, recordOf } from '../support/runs';

const open = useBrowser();
const newCreator = useCreators();
const network = ownNetwork();
const PRICE = 10_000n;
const COLLATERAL = 10_000_000n;
/** Of a dispute. */
const BOND = 100_000n;
const TASK = 'The quick brown fox';

/** How each of the wallets treats a transaction. */
const WALLETS: Record<string, MockOptions> = {
    Phantom: { change: 'phantom' },
    Solflare: { change: 'solflare' },
    Backpack: { change: 'backpack' },
    'a slow hardware wallet': { change: 'hardware', delay: 3_000 },
};

/** Ready to sign the listing of an agent whose service is not tested. */
async function prepareListing(page: Page, { address }: Creator): Promise<void> {
    await openDraft(page, address, 'review');
    await signIn(page);
    await page.getByLabel('List it without a passed test').check();
    await listButton(page).waitFor();
}

/** The key is made and saved, and not granted. */
async function prepareKey(page: Page): Promise<void> {
    await page.goto('/keys/new');
    await fillKey(page, { name: 'with a wallet' });
    await takeKey(page);
}

/** A call of which the service does not hear, with the creator's answer in the form. */
async function prepareSettlement(page: Page, { address }: Creator): Promise<string> {
    await page.route('**/dispatch', (route) => route.fulfill({ status: 400, json: { error: { code: 'invalid_request', message: 'not today' } } }));
    await openForm(page, network, 0);
    await page.getByLabel('What should the agent do?').fill(TASK);
    const id = await pay(page);
    await page.getByText('The service did not take the request').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    const answer = await askCreator(network, TASK, id, await recordOf(page, id), address);
    await page.getByText('If the service does not end it').click();
    await page.getByLabel('Answer of the creator (JSON)').fill(answer);
    return id;
}

/** The form of a dispute about a result, filled in. */
async function prepareDispute(page: Page, id: string): Promise<void> {
    await page.goto(`/disputes/new?execution=${id}`);
    await page.getByLabel('What happened').fill('It counts the words wrongly.');
}

const signAndGrant = (page: Page) => page.getByRole('button', { name: 'Sign and grant' });
const settle = (page: Page) => page.getByRole('button', { name: 'Check, sign and settle' });

describe.each(Object.entries(WALLETS))('a wallet like %s', (_, options) => {
    test('lists an agent, pays a call, makes a key, settles and disputes', async () => {
        const wallet = await newCreator(network);
        const { page, context, problems } = await open();
        await openAs(page, wallet, '/', options);
        const start = await usdcOf(wallet.address);

        await prepareListing(page, wallet);
        await listButton(page).click();
        await listedAgent(page);
        expect(start - (await usdcOf(wallet.address))).toBe(COLLATERAL);

        const id = await call(page, network);
        expect(start - (await usdcOf(wallet.address))).toBe(COLLATERAL + PRICE);

        await prepareKey(page);
        await signAndGrant(page).click();
        await page.getByText('The key works').waitFor();

        await prepareSettlement(page, wallet);
        await settle(page).click();
        await done(page);
        expect(start - (await usdcOf(wallet.address))).toBe(COLLATERAL + 2n * PRICE);

        await prepareDispute(page, id);
        await raiseButton(page).click();
        await page.waitForURL(/\/disputes\/[1-9A-HJ-NP-Za-km-z]{32,}$/);
        await page.getByRole('heading', { name: 'What the caller says' }).waitFor();
        expect(problems).toEqual([]);
        await context.close();
    });
});

/** The page says so, and says what was done. */
const refused = async (page: Page, words: RegExp): Promise<void> => {
    await page.getByText('The wallet changed the transaction').waitFor();
    await page.getByText(words).first().waitFor();
};

test('what a hostile wallet makes of a transaction is refused in every flow, and the flow goes on with an honest one', async () => {
    const wallet = await newCreator(network);
    const { page, context, problems } = await open();
    await openAs(page, wallet, '/');
    const start = await usdcOf(wallet.address);
    const withHostile = async (change: string, press: () => Promise<void>, words: RegExp): Promise<void> => {
        await behave(page, { change });
        await press();
        await refused(page, words);
        await behave(page, { change: 'hardware' });
    };

    await prepareListing(page, wallet);
    await withHostile('adds a transfer', () => listButton(page).click(), /a transfer of 1 SOL to GThU/);
    expect(await usdcOf(wallet.address)).toBe(start);
    await listButton(page).click();
    await listedAgent(page);

    await openForm(page, network, 0);
    await page.getByLabel('What should the agent do?').fill(TASK);
    await behave(page, { change: 'replaces the destination' });
    const id = await pay(page);
    await refused(page, /another instruction of the program/);
    expect(start - (await usdcOf(wallet.address))).toBe(COLLATERAL);
    await behave(page, { change: 'hardware' });
    await page.getByRole('button', { name: /Try again|Sign and pay/ }).click();
    await done(page);

    await prepareKey(page);
    const { hostile } = walletBehaviours();
    for (const [index, change] of Object.keys(hostile).entries()) {
        await behave(page, { change });
        await signAndGrant(page).click();
        await expect.poll(() => asked(page)).toBe(index + 1);
        await refused(page, /not sent/);
    }
    await behave(page, { change: 'hardware' });
    await signAndGrant(page).click();
    await page.getByText('The key works').waitFor();

    await prepareSettlement(page, wallet);
    const between = 'comes between proof and settlement with a budget';
    await withHostile(between, () => settle(page).click(), /between the proof and the settlement/);
    await settle(page).click();
    await done(page);

    await prepareDispute(page, id);
    await withHostile('swaps the blockhash for a nonce', () => raiseButton(page).click(), /a durable nonce/);
    await raiseButton(page).click();
    await page.waitForURL(/\/disputes\/[1-9A-HJ-NP-Za-km-z]{32,}$/);
    expect(start - (await usdcOf(wallet.address))).toBe(COLLATERAL + 2n * PRICE + BOND);
    expect(problems).toEqual([]);
    await context.close();
});

test('a hardware wallet that signs messages alone signs in, and each page says why it cannot pay', async () => {
    const wallet = await newCreator(network);
    const { page, context, problems } = await open();
    await openAs(page, wallet, '/', { cannotSign: 'transactions', delay: 500 });
    const why = page.getByRole('main').getByText('cannot sign a transaction without sending it');
    await prepareListing(page, wallet);
    await why.first().waitFor();
    await prepareKey(page);
    await why.first().waitFor();
    await openForm(page, network, 0);
    await page.getByText('Your wallet cannot sign this').waitFor();
    expect(await payButton(page).isDisabled()).toBe(true);
    expect(problems).toEqual([]);
    await context.close();
});

test('a hardware wallet that signs transactions alone is told why it cannot sign in, and manages its agents', async () => {
    const wallet = await newCreator(network);
    const { agentId } = await wallet.list('hardware-agent', { isSilent: true });
    const { page, context, problems } = await open();
    await openAs(page, wallet, '/executions', { cannotSign: 'messages' });
    await signIn(page);
    await page.getByText('cannot sign messages, so it cannot sign in here').waitFor();
    await page.goto(`/creator/agents/${agentId}`);
    await page.getByRole('button', { name: 'Pause the agent' }).click();
    await page.getByText('The agent is paused.').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});
