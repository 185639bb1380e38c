// An agent of a test file's own, so that the demo's agents stay as they are: the example service of `crtx agent init`,
// listed by the demo's creator with the command line.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll } from 'vitest';

import { fromBase58 } from './base58';
import { endpointOf } from './creatorService';
import { demoWallets } from './mockWallet';
import { ownNetwork } from './ownNetwork';

const program = process.env['CRTX_BIN'] ?? path.resolve(import.meta.dirname, '../../../target/debug/crtx');

export type OwnAgent = { agentId: string; creator: string };

/** Listed with exactly the collateral that its price demands. The members are there when the tests run. */
export function useOwnAgent(name: string): OwnAgent {
    const own: OwnAgent = { agentId: '', creator: '' };
    let [service, folder]: [ChildProcess | null, string] = [null, ''];
    beforeAll(async () => {
        const network = ownNetwork();
        folder = mkdtempSync(path.join(tmpdir(), 'crtx-agent-'));
        const creator = (await demoWallets(network)).find(({ label }) => label === 'Creator');
        if (creator === undefined) throw new Error('The demo has no creator.');
        const [keypair, agent] = [path.join(folder, 'creator.json'), path.join(folder, name)];
        writeFileSync(keypair, JSON.stringify([...fromBase58(creator.secret_key, 64)]), { mode: 0o600 });
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
