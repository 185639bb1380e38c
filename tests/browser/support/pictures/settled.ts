// When a page has everything: no request is under way, the fonts are there, and it has been drawn.

import type { Page, Request } from 'playwright-core';

import { isStream } from './world';

const QUIET_MS = 150;

/** Call before the page is opened. */
export function watchRequests(page: Page): () => Promise<void> {
    const under = new Set<Request>();
    page.on('request', (request) => void (isStream(request) || under.add(request)));
    page.on('requestfinished', (request) => void under.delete(request));
    page.on('requestfailed', (request) => void under.delete(request));
    return async () => {
        for (let quiet = 0; quiet < 2; quiet = under.size === 0 ? quiet + 1 : 0) await page.waitForTimeout(QUIET_MS / 2);
        await page.evaluate(async () => {
            await document.fonts.ready;
            await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        });
    };
}
