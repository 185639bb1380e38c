// An agent of a test file's own, so that the demo's agents stay as they are: the example service of `crtx agent init`,
// listed by the demo's creator with the command line.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

import { afterAll, beforeAll, inject } from 'vitest';

import { demoWallets } from './mockWallet';

const program = process.env['CRTX_BIN'] ?? path.resolve(import.meta.dirname, '../../../target/debug/crtx');

export type OwnAgent = { agentId: string; creator: string };

/** Listed with exactly the collateral that its price demands. The members are there when the tests run. */
export function useOwnAgent(name: string): OwnAgent {
    const own: OwnAgent = { agentId: '', creator: '' };
    let [service, folder]: [ChildProcess | null, string] = [null, ''];
    beforeAll(async () => {
        const network = inject('network');
        folder = mkdtempSync(path.join(tmpdir(), 'crtx-agent-'));
        const creator = (await demoWallets(network)).find(({ label }) => label === 'Creator');
        if (creator === undefined) throw new Error('The demo has no creator.');
        const [keypair, agent] = [path.join(folder, 'creator.json'), path.join(folder, name)];
        writeFileSync(keypair, JSON.stringify(base58Bytes(creator.secret_key)), { mode: 0o600 });
        const env = { ...process.env, CRTX_CONFIG_DIR: folder, CRTX_URL: network.base_url, CRTX_RPC_URL: network.rpc_url, CRTX_KEYPAIR: keypair };
        const run = async (...args: string[]): Promise<string> =>
            (await promisify(execFile)(program, ['--network', 'local', 'agent', ...args], { env })).stdout;
        await run('init', agent);
        service = spawn(process.execPath, [path.join(agent, 'service.mjs')], { env: { ...env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
        const manifest = path.join(agent, 'agent.toml');
        const endpoint = await endpointOf(service);
        writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/^endpoint = .*$/m, `endpoint = "${endpoint}"`));
        own.agentId = (JSON.parse(await run('publish', agent, '--yes', '--json')) as { agent_id: string }).agent_id;
        own.creator = creator.address;
    });
    afterAll(() => {
        service?.kill();
        rmSync(folder, { recursive: true, force: true });
    });
    return own;
}

async function endpointOf({ stdout }: ChildProcess): Promise<string> {
    if (stdout === null) throw new Error('The output is piped.');
    for await (const line of createInterface({ input: stdout })) return /http:\S+\/execute/.exec(line)?.[0] ?? '';
    throw new Error('The service of the agent ended before it was ready.');
}

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function base58Bytes(text: string): number[] {
    const value = Array.from(text).reduce((sum, letter) => sum * 58n + BigInt(ALPHABET.indexOf(letter)), 0n);
    const zeros = /^1*/.exec(text)?.[0] ?? '';
    return [...Buffer.from(zeros.replaceAll('1', '\0'), 'latin1'), ...Buffer.from(value.toString(16).padStart(128 - 2 * zeros.length, '0'), 'hex')];
}
