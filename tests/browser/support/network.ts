// Starts a real `crtx up` for each worker before the first test, on a data directory of its own, and stops it after the last
// one. `CRTX_BIN` names the program; `CRTX_UP_JSON` names a file with the line of a network that runs already.

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestProject } from 'vitest/node';

/** The line that `crtx up --json` prints. */
export type Network = {
    base_url: string;
    api_key: string;
    wallet: string;
    rpc_url: string;
    content_dir: string;
    usdc_mint: string;
    program_id: string;
    agents: { agent_id: string; name: string; price_per_call_usdc: number }[];
};

declare module 'vitest' {
    export interface ProvidedContext {
        networks: Network[];
    }
}

const root = path.resolve(import.meta.dirname, '../../..');

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
    // Pictures are of kept answers; see `pictures/`.
    if (['accept', 'compare'].includes(process.env['CRTX_PICTURES'] ?? '')) return async () => undefined;
    const running = process.env['CRTX_UP_JSON'];
    if (running !== undefined) {
        project.provide('networks', [JSON.parse(readFileSync(running, 'utf8')) as Network]);
        return async () => undefined;
    }
    const started = await Promise.all(Array.from({ length: project.config.maxWorkers }, startNetwork));
    project.provide('networks', started.map(({ network }) => network));
    return async () => {
        await Promise.all(started.map(({ end }) => end()));
    };
}

/** A network of its own, also for tests that change what others need: roles, rules, the chain's clock. */
export async function startNetwork(): Promise<{ network: Network; end: () => Promise<void> }> {
    const folder = mkdtempSync(path.join(tmpdir(), 'crtx-browser-'));
    // The user that PostgreSQL runs as may enter, so that the database lies in this folder and goes with it.
    chmodSync(folder, 0o755);
    mkdirSync(path.join(folder, 'data'));
    const program = process.env['CRTX_BIN'] ?? path.join(root, 'target/debug/crtx');
    const child = spawn(program, ['up', '--port', '0', '--data-dir', path.join(folder, 'data'), '--json'], {
        env: { ...process.env, XDG_CONFIG_HOME: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
    });
    const end = async (): Promise<void> => {
        await stop(child);
        rmSync(folder, { recursive: true, force: true });
    };
    return { network: await ready(child), end };
}

async function ready(child: ChildProcess): Promise<Network> {
    if (child.stdout === null) throw new Error('The output is piped.');
    for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as Network;
    throw new Error('`crtx up` ended before it was ready.');
}

async function stop(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGINT');
    await ended;
}
