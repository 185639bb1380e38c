// Chromium, and pages in it that report what must not happen: errors in the console, refused content, requests to other
// hosts.

import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';

import { serveBuilt } from './built';
import type { Network } from './network';
import { ownNetwork } from './ownNetwork';

const PROGRAMS = [process.env['CRTX_CHROMIUM'], '/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FLAGS = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-gpu'];
/** Pages that the test itself serves count as pages of the internet, which may not ask a node on this machine. */
const FLAGS_OF_BUILT = ['--disable-features=LocalNetworkAccessChecks'];

export const WIDTHS = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } } as const;
export type Width = keyof typeof WIDTHS;
export const SCHEMES = ['light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

export type OpenOptions = { width?: Width; scheme?: Scheme };

/** A page with everything that went wrong in it. */
export type Visit = { readonly page: Page; readonly context: BrowserContext; readonly problems: string[] };

/** The browser of a test file. `network`: the one of the worker, unless the file has its own. */
export function useBrowser(network: () => Network = ownNetwork): (options?: OpenOptions) => Promise<Visit> {
    const browser = useChromium();
    return (options) => open(browser(), network(), options);
}

/** Chromium for the tests of a file. */
export function useChromium(isServedByTest = process.env['CRTX_PAGES'] !== undefined): () => Browser {
    let browser: Browser;
    beforeAll(async () => {
        const executablePath = PROGRAMS.find((program) => program !== undefined && existsSync(program));
        if (executablePath === undefined) throw new Error('Install Chromium: apt-get install chromium-headless-shell');
        browser = await chromium.launch({ executablePath, args: [...FLAGS, ...(isServedByTest ? FLAGS_OF_BUILT : [])] });
    });
    afterAll(() => browser?.close());
    return () => browser;
}

async function open(browser: Browser, network: Network, { width = 'desktop', scheme = 'light' }: OpenOptions = {}): Promise<Visit> {
    const { base_url: baseURL, rpc_url: rpcUrl } = network;
    const context = await browser.newContext({
        baseURL,
        viewport: WIDTHS[width],
        colorScheme: scheme,
        hasTouch: width === 'phone',
        reducedMotion: 'reduce',
        permissions: ['clipboard-read', 'clipboard-write'],
        locale: 'en-GB',
        timezoneId: 'UTC',
    });
    if (process.env['CRTX_PAGES'] !== undefined) await serveBuilt(context, baseURL, process.env['CRTX_PAGES']);
    const page = await context.newPage();
    letRoutesEnd(context);
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
    page.on('console', (message) => {
        if (message.type() === 'error' && !isExpected(message.text())) problems.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
        const { origin, protocol } = new URL(request.url());
        const own = [new URL(baseURL).origin, new URL(rpcUrl).origin].includes(origin);
        if (!own && !['data:', 'blob:'].includes(protocol)) problems.push(`request to ${request.url()}`);
    });
    return { page, context, problems };
}

/** A request that a test answers may still be under way when the test is over, and its answer is no error of the run. */
function letRoutesEnd(context: BrowserContext): void {
    const close = context.close.bind(context);
    context.close = async (options) => {
        await Promise.all([context, ...context.pages()].map((routed) => routed.unrouteAll({ behavior: 'ignoreErrors' })));
        await close(options);
    };
}

/** Chromium writes every answer above 399 to the console; the pages handle them. */
const isExpected = (text: string): boolean => text.startsWith('Failed to load resource: the server responded with a status of');
