// The marketplace and the browser of the benchmarks: `crtx up` (`CRTX_BIN`), or one that runs already (`CRTX_UP_JSON`, a
// file with its line), and Chromium (`CRTX_CHROMIUM`).

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Runs `measure(browser, line)` and ends what it started. */
export async function withMarketplace(measure) {
    const { line, end } = await marketplace();
    try {
        const browser = await chromium.launch({ executablePath: process.env.CRTX_CHROMIUM, args: FLAGS });
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
    return { context, page: await context.newPage() };
}

/** The value below which this share of the values is. */
export const quantile = (values, share) => [...values].sort((one, other) => one - other)[Math.ceil(share * values.length) - 1];

/** One figure of the report. `gate`: the largest value that is accepted; `null`: any. */
export const row = (name, value, unit, gate = null) => ({ name, value: Math.round(value * 1_000) / 1_000, unit, gate });
