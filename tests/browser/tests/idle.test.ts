// A page that nobody uses asks seldom: at most four requests a minute, of the service and of the node together.

import type { Page, Request } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { ownNetwork } from '../support/ownNetwork';
import { PAGES } from '../support/pages';

const open = useBrowser();
const network = ownNetwork();

/** Of each kind of page one, in the state in which somebody leaves it. */
const NAMES = [
    'agents',
    'executions',
    'keys',
    'agent',
    'run',
    'execution',
    'execution-refunded',
    'network',
    'admin-for-others',
    'disputes',
    'dispute',
    'creator',
    'own-agent',
    'public-creator',
    'docs',
];
const MOST = 4;
const STEPS = 12;
const STEP_MS = 5_000;
const ANSWER_MS = 150;

/** What the page asks for while a minute of its own clock passes. The stream of events is one request that stays. */
async function askedInAMinute(page: Page): Promise<string[]> {
    const asked: string[] = [];
    const note = (request: Request): void => {
        const { pathname } = new URL(request.url());
        const { method } = (request.postDataJSON() ?? {}) as { method?: string };
        if (pathname !== '/v1/events/stream') asked.push(method ?? pathname);
    };
    page.on('request', note);
    for (let step = 0; step < STEPS; step += 1) {
        await page.clock.runFor(STEP_MS);
        // What was asked is answered before the page's clock goes on, so that it is asked again when it is due.
        await page.waitForTimeout(ANSWER_MS);
    }
    page.off('request', note);
    return asked;
}

test.each(PAGES.filter(({ name }) => NAMES.includes(name)))('the page $name asks seldom when nobody uses it', async ({ path, ready }) => {
    const { page, context, problems } = await open();
    await page.clock.install();
    await page.goto(path(network));
    await ready(page, network);
    // What was just done may still be on its way to the index: the first minute is not an idle one.
    await askedInAMinute(page);
    const asked = await askedInAMinute(page);
    expect(asked.length, asked.join(', ')).toBeLessThanOrEqual(MOST);
    expect(problems).toEqual([]);
    await context.close();
});

test('every name is one of a page', () => {
    expect(NAMES.filter((name) => !PAGES.some((page) => page.name === name))).toEqual([]);
});
