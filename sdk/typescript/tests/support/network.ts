// Starts a real `crtx up` before the first test, on a data directory of its own, and stops it after the last one. `CRTX_BIN`
// names the program.

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestProject } from 'vitest/node';

/** The line that `crtx up --json` prints. */
export type Network = {
    base_url: string;
    api_key: string;
    unfunded_api_key: string;
    wallet: string;
    rpc_url: string;
    usdc_mint: string;
    agents: { agent_id: string; name: string }[];
    /** The folder of this run, in which `crtx` finds its settings. */
    folder: string;
};

declare module 'vitest' {
    // eslint-disable-next-line @typescript-eslint/consistent-type-definitions -- it adds to an interface
    export interface ProvidedContext {
        network: Network;
    }
}

export const root = path.resolve(import.meta.dirname, '../../../..');
export const program = process.env.CRTX_BIN ?? path.join(root, 'target/debug/crtx');

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
    const folder = mkdtempSync(path.join(tmpdir(), 'crtx-sdk-'));
    // The user that PostgreSQL runs as may enter, so that the database lies in this folder and goes with it.
    chmodSync(folder, 0o755);
    mkdirSync(path.join(folder, 'data'));
    const child = spawn(
        program,
        ['up', '--port', '0', '--data-dir', path.join(folder, 'data'), '--json', '--no-dashboard'],
        {
            env: { ...process.env, XDG_CONFIG_HOME: folder, HOME: folder },
            stdio: ['ignore', 'pipe', 'inherit'],
        },
    );
    project.provide('network', { ...(await ready(child)), folder });
    return async () => {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGINT');
        await ended;
        rmSync(folder, { recursive: true, force: true });
    };
}

async function ready(child: ChildProcess): Promise<Network> {
    if (child.stdout === null) throw new Error('The output is piped.');
    for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as Network;
    throw new Error('`crtx up` ended before it was ready.');
}
