// How long until a visitor sees the first list: `crtx up`, Chromium, an empty cache at each visit. Prints the figures as
// one JSON object. `CRTX_BIN` names the program, `CRTX_CHROMIUM` the browser. Started by `cargo xtask bench dashboard`.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

const VISITS = 30;
const FLAGS = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const folder = mkdtempSync(path.join(tmpdir(), 'crtx-first-list-'));
const network = spawn(process.env.CRTX_BIN, ['up', '--port', '0', '--data-dir', path.join(folder, 'data'), '--json'], {
    env: { ...process.env, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
});

/** The line that says that the network is ready. */
async function ready() {
    for await (const line of createInterface({ input: network.stdout })) return JSON.parse(line);
    throw new Error('`crtx up` ended before it was ready.');
}

/** Milliseconds from the navigation until the first card is painted. */
async function visit(browser, { base_url: baseURL, agents }) {
    const context = await browser.newContext({ baseURL });
    const page = await context.newPage();
    await page.addInitScript((name) => {
        const look = () => {
            const isThere = [...document.querySelectorAll('main a')].some((link) => link.textContent.includes(name));
            // The second frame begins once the first one is painted.
            if (isThere) requestAnimationFrame(() => requestAnimationFrame(() => (window.firstListMs = performance.now())));
            else requestAnimationFrame(look);
        };
        look();
    }, agents[0].name);
    await page.goto('/', { waitUntil: 'commit' });
    const shown = await page.waitForFunction(() => window.firstListMs, undefined, { polling: 20, timeout: 30_000 });
    const ms = await shown.jsonValue();
    await context.close();
    return ms;
}

const browser = await chromium.launch({ executablePath: process.env.CRTX_CHROMIUM, args: FLAGS });
try {
    const line = await ready();
    // The first visit of a browser starts its processes.
    await visit(browser, line);
    const times = [];
    for (let index = 0; index < VISITS; index += 1) times.push(await visit(browser, line));
    times.sort((one, other) => one - other);
    const quantile = (share) => times[Math.ceil(share * times.length) - 1];
    const row = (name, value, gate) => ({ name, value, unit: 'ms', gate: gate ?? null });
    const results = [
        row('dashboard_first_list_p50_ms', quantile(0.5)),
        row('dashboard_first_list_p95_ms', quantile(0.95), 1_000),
        row('dashboard_first_list_max_ms', quantile(1)),
    ];
    console.log(JSON.stringify({ results }));
} finally {
    await browser.close();
    const ended = new Promise((resolve) => network.once('exit', resolve));
    network.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
}
