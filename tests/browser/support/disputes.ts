// Disputes as their parties act on them: with the roles of the local test wallet.

import type { Page } from 'playwright-core';

import { type Attached, type Hand, pointer } from './hand';
import type { Network } from './network';
import { actAs, call, connect } from './runs';

export type Party = 'Caller' | 'Creator' | 'Resolver' | 'New wallet';

/** Where a page asks for it. */
export async function signIn(page: Page, by: Hand = pointer(page)): Promise<void> {
    await by.press(page.getByRole('main').getByRole('button', { name: 'Sign in' }));
    await page.getByRole('main').getByText('which costs nothing').waitFor({ state: 'detached' });
}

export const raiseButton = (page: Page) => page.getByRole('button', { name: 'Raise the dispute' });

/** From the page of the execution to the page of the dispute; returns the address of the dispute. */
export async function raise(page: Page, executionId: string, text: string, files: Attached[] = [], by: Hand = pointer(page)): Promise<string> {
    await page.goto(`/disputes/new?execution=${executionId}`);
    await by.write(page.getByLabel('What happened'), text);
    if (files.length > 0) await by.attach(page.getByLabel('Files that prove it'), files);
    await by.press(raiseButton(page));
    await page.waitForURL(/\/disputes\/[1-9A-HJ-NP-Za-km-z]{32,}$/);
    await page.getByRole('heading', { name: 'What the caller says' }).waitFor();
    return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

/** Changes to the creator's account and answers. */
export async function answer(page: Page, dispute: string, text: string, by?: Hand): Promise<void> {
    await open(page, dispute, 'Creator', by);
    const hand = by ?? pointer(page);
    await hand.write(page.getByLabel('Your answer'), text);
    await hand.press(page.getByRole('button', { name: 'Send the answer' }));
    await page.getByText('Your answer is on the chain.').waitFor();
}

/** The form of the resolver, filled in. `amount`: uphold with so much USDC. */
export async function prepareDecision(page: Page, dispute: string, reasons: string, amount: string | null, by?: Hand): Promise<void> {
    await open(page, dispute, 'Resolver', by);
    const hand = by ?? pointer(page);
    await hand.choose(page.getByLabel(amount === null ? 'Reject: the creator' : 'Uphold: the caller'));
    if (amount !== null) await hand.write(page.getByLabel('Take from the collateral, in USDC'), amount);
    await hand.write(page.getByLabel('Reasons'), reasons);
}

export async function decide(page: Page, by: Hand = pointer(page)): Promise<void> {
    await by.press(page.getByRole('button', { name: /^Sign: / }));
    await page.getByText('The decision is on the chain.').waitFor();
}

/** The page of the dispute, as a party sees it. */
export async function open(page: Page, dispute: string, party: Party, by?: Hand): Promise<void> {
    await page.goto(`/disputes/${dispute}`);
    await actAs(page, party, by);
    await signIn(page, by);
    await page.getByRole('heading', { name: 'What the caller says' }).waitFor();
}

let answered: Promise<string> | undefined;

/** A dispute about the demo's agent that has its answer and waits for its decision: made once, for pictures. */
export function openDispute(page: Page, network: Network): Promise<string> {
    answered ??= (async () => {
        const id = await call(page, network);
        const file = { name: 'request.json', mimeType: 'application/json', buffer: Buffer.from('{"task": "The quick brown fox"}') };
        const dispute = await raise(page, id, 'I asked for the five most frequent words.\n\nThe result counts “the” once, but it is there twice.', [file]);
        await answer(page, dispute, 'The parameter top_words was not set, and the result has all words.\nUpper and lower case are counted apart, as the description says.');
        return dispute;
    })();
    return answered;
}

/** Connected, with the page of that dispute open. */
export async function showOpenDispute(page: Page, network: Network, party: Party): Promise<string> {
    await connect(page);
    const dispute = await openDispute(page, network);
    // The browser of another picture is at the beginning.
    await page.goto(`/disputes/${dispute}`);
    await actAs(page, party);
    const waiting = page.getByRole('main').getByRole('button', { name: 'Sign in' });
    await waiting.or(page.getByRole('heading', { name: 'What the caller says' })).waitFor();
    if (await waiting.isVisible()) await signIn(page);
    await page.getByRole('heading', { name: 'Verify' }).waitFor();
    return dispute;
}
