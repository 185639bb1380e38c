// Creators of a test's own, so that the demo's creator and its agents stay as they are: a new wallet with money, and
// agents that it lists with the command line. Their service is the example of `crtx agent init`.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { afterAll } from 'vitest';

import { base58, fromBase58 } from './base58';
import { rpc } from './chain';
import { endpointOf } from './creatorService';
import type { Network } from './network';

const program = process.env['CRTX_BIN'] ?? path.resolve(import.meta.dirname, '../../../target/debug/crtx');
const run = promisify(execFile);

export type ListedAgent = {
    readonly agentId: string;
    readonly name: string;
    /** Starts the service again, with another key file. */
    readonly useKey: (keyFile: string) => Promise<void>;
};

export type Creator = {
    readonly address: string;
    /** Base58 of the 64 bytes, as the mock wallet takes it. */
    readonly secret: string;
    readonly list: (name: string, options?: ListOptions) => Promise<ListedAgent>;
    /** Runs the command line with the creator's wallet, or with the admin's. */
    readonly crtx: (args: readonly string[], role?: 'creator' | 'admin') => Promise<string>;
    /** Ends the services, and removes the files. */
    readonly end: () => void;
};

export type ListOptions = {
    /** Changes `agent.toml`. */
    readonly change?: (manifest: string) => string;
    /** Nobody calls the agent. */
    readonly isSilent?: true;
};

/** Makes creators whose services end with the test file. */
export function useCreators(): (network: Network) => Promise<Creator> {
    const made: Creator[] = [];
    afterAll(() => made.forEach((creator) => creator.end()));
    return async (network) => {
        const creator = await newCreator(network);
        made.push(creator);
        return creator;
    };
}

/** A wallet with 1 000 USDC and 10 SOL. */
export async function newCreator(network: Network): Promise<Creator> {
    const folder = mkdtempSync(path.join(tmpdir(), 'crtx-creator-'));
    const services: ChildProcess[] = [];
    const end = (): void => {
        services.forEach((service) => service.kill());
        rmSync(folder, { recursive: true, force: true });
    };
    await writeSettings(folder, network);
    const keypair = path.join(folder, 'creator.json');
    const env = { ...process.env, CRTX_CONFIG_DIR: folder, CRTX_NETWORK: 'local' };
    const crtx = async (args: readonly string[], role: 'creator' | 'admin' = 'creator'): Promise<string> => {
        const wallet = path.join(folder, `${role}.json`);
        return (await run(program, [...args, '--json'], { env: { ...env, CRTX_KEYPAIR: wallet } })).stdout;
    };
    const { address } = JSON.parse(await crtx(['wallet', 'new', '--out', keypair])) as { address: string };
    await crtx(['wallet', 'fund']);
    const secret = base58(Buffer.from(JSON.parse(readFileSync(keypair, 'utf8')) as number[]));

    const list: Creator['list'] = async (name, { change = (manifest: string) => manifest, isSilent } = {}) => {
        const agent = path.join(folder, name);
        await crtx(['agent', 'init', agent]);
        const keyFile = path.join(agent, 'result-key.json');
        const start = (keyFile: string, port: string): ChildProcess => {
            const service = spawn(process.execPath, [path.join(agent, 'service.mjs')], {
                env: { ...env, PORT: port, RESULT_KEY: keyFile },
                stdio: ['ignore', 'pipe', 'inherit'],
            });
            services.push(service);
            return service;
        };
        let service = isSilent ? null : start(keyFile, '0');
        const endpoint = service === null ? 'http://127.0.0.1:9/execute' : await endpointOf(service);
        const file = path.join(agent, 'agent.toml');
        const manifest = readFileSync(file, 'utf8').replace(/^endpoint = .*$/m, `endpoint = "${endpoint}"`);
        writeFileSync(file, change(manifest));
        const force = isSilent ? ['--force'] : [];
        const { agent_id: agentId } = JSON.parse(await crtx(['agent', 'publish', agent, '--yes', ...force])) as { agent_id: string };
        const useKey = async (keyFile: string): Promise<void> => {
            const ended = new Promise((resolve) => service?.once('exit', resolve));
            service?.kill();
            await ended;
            service = start(keyFile, new URL(endpoint).port);
            await endpointOf(service);
        };
        return { agentId, name, useKey };
    };
    return { address, secret, list, crtx, end };
}

/** What `crtx up` notes for the commands of the same machine, with the admin's key, which mints the local USDC. */
async function writeSettings(folder: string, network: Network): Promise<void> {
    const { base_url: origin } = network;
    const answer = await fetch(`${origin}/local/wallets`, { method: 'POST', headers: { origin, 'content-type': 'application/json' }, body: '{}' });
    const { wallets } = (await answer.json()) as { wallets: { address: string; secret_key: string }[] };
    const { roles } = (await (await fetch(`${origin}/v1/network`)).json()) as { roles: { admin: string } };
    const admin = wallets.find(({ address }) => address === roles.admin)?.secret_key ?? '';
    mkdirSync(folder, { recursive: true });
    const file = path.join(folder, 'admin.json');
    writeFileSync(file, JSON.stringify([...fromBase58(admin, 64)]), { mode: 0o600 });
    const keypairs = { demo: file, creator: file, admin: file, resolver: file, guardian: file };
    const local = { ...network, ws_url: network.rpc_url, data_dir: folder, keypairs };
    writeFileSync(path.join(folder, 'local.json'), JSON.stringify(local), { mode: 0o600 });
}

/** The bytes of an account. */
export async function accountOf(address: string): Promise<{ lamports: number; data: Buffer } | null> {
    const config = { encoding: 'base64', commitment: 'confirmed' };
    const { value } = await rpc<{ value: { lamports: number; data: [string] } | null }>('getAccountInfo', [address, config]);
    return value && { lamports: value.lamports, data: Buffer.from(value.data[0], 'base64') };
}

const RESULT_KEY_AT = 8 + 32;

/** The key that the listing names for its results. */
export async function resultKeyOf(agentId: string): Promise<string> {
    const account = await accountOf(agentId);
    return account === null ? 'closed' : base58(account.data.subarray(RESULT_KEY_AT, RESULT_KEY_AT + 32));
}
