// The command line `crtx`, with the settings of the test's own network.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { type Network, program } from './network.js';

const run = promisify(execFile);

export async function crtx(network: Network, args: readonly string[], keypair?: string): Promise<any> {
    const env = {
        ...process.env,
        XDG_CONFIG_HOME: network.folder,
        HOME: network.folder,
        ...(keypair === undefined ? {} : { CRTX_KEYPAIR: keypair }),
    };
    const { stdout } = await run(program, [...args, '--json'], { env });
    return JSON.parse(stdout);
}

/** USDC of a wallet on chain, in base units. */
export async function usdcOf({ rpc_url, usdc_mint }: Network, owner: string): Promise<bigint> {
    const params = [owner, { mint: usdc_mint }, { encoding: 'jsonParsed', commitment: 'confirmed' }];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTokenAccountsByOwner', params });
    const answer = await fetch(rpc_url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { result } = (await answer.json()) as any;
    return result.value.reduce(
        (sum: bigint, { account }: any) => sum + BigInt(account.data.parsed.info.tokenAmount.amount),
        0n,
    );
}
