// The marketplace and the browser of the benchmarks: `crtx up` (`CRTX_BIN`), or one that runs already (`CRTX_UP_JSON`, a
// file with its line), and Chromium (`CRTX_CHROMIUM`). `CRTX_PAGES` names a built dashboard to show in place of the one
// in the program.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
/** Pages that the benchmark itself serves count as pages of the internet, which may not ask a node on this machine. */
const FLAGS_OF_BUILT = process.env.CRTX_PAGES === undefined ? [] : ['--disable-features=LocalNetworkAccessChecks'];

/** Runs `measure(browser, line)` and ends what it started. */
export async function withMarketplace(measure) {
    const { line, end } = await marketplace();
    try {
        const browser = await chromium.launch({ executablePath: process.env.CRTX_CHROMIUM, args: [...FLAGS, ...FLAGS_OF_BUILT] });
        try {
            await measure(browser, line);
        } finally {
            await browser.close();
        }
    } finally {
        await end();
    }
}

async function marketplace() {
    if (process.env.CRTX_UP_JSON !== undefined) {
        return { line: JSON.parse(readFileSync(process.env.CRTX_UP_JSON, 'utf8')), end: async () => undefined };
    }
    const folder = mkdtempSync(path.join(tmpdir(), 'crtx-bench-'));
    const network = spawn(process.env.CRTX_BIN, ['up', '--port', '0', '--data-dir', path.join(folder, 'data'), '--json'], {
        env: { ...process.env, XDG_CONFIG_HOME: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => network.once('exit', resolve));
    const end = async () => {
        network.kill('SIGINT');
        await ended;
        rmSync(folder, { recursive: true, force: true });
    };
    for await (const line of createInterface({ input: network.stdout })) return { line: JSON.parse(line), end };
    await end();
    throw new Error('`crtx up` ended before it was ready.');
}

/** A browser profile of its own, with an empty cache. */
export async function visitor(browser, { base_url: baseURL }) {
    const context = await browser.newContext({ baseURL });
    if (process.env.CRTX_PAGES !== undefined) await serveBuilt(context, baseURL, process.env.CRTX_PAGES);
    return { context, page: await context.newPage() };
}

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' };

async function serveBuilt(context, baseURL, folder) {
    const isPage = ({ origin, pathname }) => origin === baseURL && !/^\/(v1|ipfs|local|openapi\.json|healthz|readyz)(\/|$)/.test(pathname);
    const policy = (await fetch(baseURL)).headers.get('content-security-policy');
    await context.route(isPage, (route) => {
        const asked = path.join(folder, path.normalize(new URL(route.request().url()).pathname));
        const file = existsSync(asked) && statSync(asked).isFile() ? asked : path.join(folder, 'index.html');
        const contentType = TYPES[path.extname(file)] ?? 'application/octet-stream';
        return route.fulfill({ body: readFileSync(file), contentType, headers: { 'content-security-policy': policy } });
    });
}

/** The value below which this share of the values is. */
export const quantile = (values, share) => [...values].sort((one, other) => one - other)[Math.ceil(share * values.length) - 1];

/** One figure of the report. `gate`: the largest value that is accepted; `null`: any. */
export const row = (name, value, unit, gate = null) => ({ name, value: Math.round(value * 1_000) / 1_000, unit, gate });
