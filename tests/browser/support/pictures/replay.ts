// Pages of the built dashboard that get the kept answers: no marketplace, no network, and a clock that stands still.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, BrowserContext, Page, Route } from 'playwright-core';

import { builtFile } from '../built';
import { addMockWallet } from '../mockWallet';
import { type Role, type World, isStream, questionOf } from './world';

/** Where `crtx up` serves by default. Browsers let pages of this host use their cryptography. */
const ORIGIN = 'http://localhost:8080';
const root = path.resolve(import.meta.dirname, '../../../..');
const built = (): string => path.resolve(process.env['CRTX_PAGES'] ?? path.join(root, 'app/dist'));
/** The mock wallet signs nothing here. */
const NO_SECRET = '1'.repeat(64);
export const SHAPES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } } as const;
/** Pictures have a third of the page’s pixels in each direction: enough to see what moved, and a tenth of the bytes. */
const SCALE = 1 / 3;

export const OPTIONS = { viewport: SHAPES.desktop, deviceScaleFactor: SCALE, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC' } as const;

export type Replayed = { readonly page: Page; readonly context: BrowserContext; readonly problems: string[] };

/** `folder`: of other pages than the dashboard's. */
export async function replay(browser: Browser, world: World, role?: Role, folder = built()): Promise<Replayed> {
    const context = await browser.newContext({ ...OPTIONS, baseURL: ORIGIN });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
    await context.route('**/*', (route) => answer(route, world, role, folder, problems));
    await page.clock.setFixedTime(world.now);
    if (role !== undefined) await signInAs(page, world.wallets[role]);
    return { page, context, problems };
}

async function answer(route: Route, world: World, role: Role | undefined, folder: string, problems: string[]): Promise<void> {
    const request = route.request();
    const { origin, pathname } = new URL(request.url());
    if (isStream(request)) return;
    if (origin === ORIGIN) {
        if (pathname === '/openapi.json') return route.fulfill({ contentType: 'application/json', body: readFileSync(path.join(root, 'docs/openapi.json')) });
        const file = builtFile(folder, pathname);
        if (file !== null) return route.fulfill({ body: file.body, contentType: file.type });
    }
    const question = questionOf(request);
    const found = world.answers[`${role} ${question}`] ?? world.answers[question];
    if (found === undefined) {
        problems.push(`no answer to ${question}: CRTX_PICTURES=record asks a marketplace`);
        return route.abort();
    }
    const { status, type, body } = found;
    return route.fulfill({ status, body: question.startsWith('rpc ') ? withIdOf(request.postData() ?? '', body) : body, contentType: type, headers: { 'access-control-allow-origin': '*' } });
}

/** The node repeats the id of the question. */
function withIdOf(question: string, body: string): string {
    const { id } = JSON.parse(question) as { id: unknown };
    return JSON.stringify({ ...(JSON.parse(body) as object), id });
}

/** As after a visit in which the wallet was connected and signed in. */
async function signInAs(page: Page, address: string): Promise<void> {
    await addMockWallet(page, { address, secret: NO_SECRET });
    await page.addInitScript((address) => {
        localStorage.setItem('crtx.wallet', JSON.stringify(['Mock wallet', address]));
        localStorage.setItem('crtx.session', new Date(Date.now() + 3_600_000).toISOString());
    }, address);
}
