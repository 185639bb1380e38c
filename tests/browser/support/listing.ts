// Agents that tests list for themselves, with wallets of their own.

import type { Page } from 'playwright-core';

import { chooseAccount } from './account';
import { rpc } from './chain';
import { signIn } from './newWallet';

/** Connects an account of the local wallet, such as `Creator` or `New wallet`, and returns its address. */
export async function connectAs(page: Page, label: string): Promise<string> {
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Local test wallet' }).click();
    await chooseAccount(page, label);
    const address = await page.evaluate(() => (JSON.parse(localStorage.getItem('crtx.wallet') ?? '[]') as string[])[1] ?? '');
    await page.keyboard.press('Escape');
    return address;
}

/** No word of it is one that the tests of the list search for. */
export const FIELDS = {
    name: 'Counter for browsers',
    tagline: 'Counts what stands in a task.',
    description: 'Send anything as the task. The result is JSON.\n\nIt counts to 100 000.',
    tags: ['browsertest'],
    inputSchema: JSON.stringify({ type: 'object', properties: { max_words: { type: 'integer', minimum: 1 } }, additionalProperties: false }, null, 2),
    outputSchema: JSON.stringify({ type: 'object', required: ['words', 'characters'], properties: { words: { type: 'integer' }, characters: { type: 'integer' } } }, null, 2),
    price: '0.05',
    minCover: '1',
    collateral: '',
    timeout: '30',
    binding: true,
    resultKey: 'BUGuuhPsHpk8YZrL2GctsCtXGneL1gmT5zYb7eMHZDWf',
    endpoint: 'http://127.0.0.1:4021/execute',
};

/** Opens a step with everything filled in, as a draft of an earlier visit. */
export async function openDraft(page: Page, wallet: string, step: string, change: Partial<typeof FIELDS> = {}): Promise<void> {
    const draft = { fields: { ...FIELDS, ...change }, test: null, hasKeyFile: true, attempt: null, listed: null };
    await page.evaluate(([key, text]) => localStorage.setItem(key as string, text as string), [`crtx.listing.new.${wallet}`, JSON.stringify(draft)]);
    await page.goto(`/creator/new?step=${step}`);
}

export const listButton = (page: Page) => page.getByRole('button', { name: /^Lock .* and list the agent$/ });

/** From an open review to the listed agent, without a test of its service. Returns its id. */
export async function listUntested(page: Page): Promise<string> {
    await signIn(page);
    await page.getByLabel('List it without a passed test').check();
    await listButton(page).click();
    return listedAgent(page);
}

/** Waits until the service shows the agent. */
export async function listedAgent(page: Page): Promise<string> {
    await page.getByText('Your agent is listed').waitFor();
    await page.getByText('The service shows it as it is on chain').waitFor();
    const href = await page.getByRole('link', { name: 'Open its page' }).getAttribute('href');
    return href?.split('/').at(-1) ?? '';
}

/** SOL of a wallet, in lamports. */
export const lamportsOf = async (wallet: string): Promise<bigint> =>
    BigInt((await rpc<{ value: number }>('getBalance', [wallet, { commitment: 'confirmed' }])).value);

/** What accounts of these sizes must hold. */
export const rentOf = async (...sizes: number[]): Promise<bigint> => {
    const rents = await Promise.all(sizes.map((bytes) => rpc<number>('getMinimumBalanceForRentExemption', [bytes])));
    return rents.reduce((sum, rent) => sum + BigInt(rent), 0n);
};

/** The bytes of an account. */
export async function dataOf(address: string): Promise<Buffer> {
    const { value } = await rpc<{ value: { data: [string, string] } | null }>('getAccountInfo', [address, { encoding: 'base64', commitment: 'confirmed' }]);
    return Buffer.from(value?.data[0] ?? '', 'base64');
}

/** What of a listing an edit can change, as the chain has it. */
export async function termsOf(agentId: string): Promise<{ price: bigint; minCover: number; collateral: bigint; timeout: number; resultKey: string; document: string }> {
    const data = await dataOf(agentId);
    return {
        resultKey: data.subarray(40, 72).toString('hex'),
        document: data.subarray(72, 104).toString('hex'),
        price: data.readBigUInt64LE(112),
        collateral: data.readBigUInt64LE(120),
        timeout: data.readUInt32LE(284),
        minCover: data[303] ?? 0,
    };
}
