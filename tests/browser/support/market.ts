// The marketplace's configuration as the chain has it, and its clock.

import type { Page } from 'playwright-core';

import { fromBase58 } from './base58';
import { rpc } from './chain';
import type { Network } from './network';

type Facts = {
    addresses: { config: string };
    openings_paused: boolean;
    listings_paused: boolean;
    roles: Record<'admin' | 'resolver' | 'treasury_owner' | 'guardian', string>;
    parameters: { fee_bps: number };
    announced_parameters: { fee_bps: number; apply_from: string; collateral_tiers: { collateral_usdc: number }[] } | null;
    announced_roles: { resolver: string | null } | null;
};

export const factsOf = async ({ base_url: base }: Network): Promise<Facts> => (await (await fetch(`${base}/v1/network`)).json()) as Facts;

const WAITS_MS = 200;

/** What the service says, once that is so. The test's own limit of time ends the wait. */
export async function until<T>(read: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
    for (;;) {
        const value = await read();
        if (isSo(value)) return value;
        await new Promise((resolve) => setTimeout(resolve, WAITS_MS));
    }
}

/** Fields of the configuration, read from its bytes. */
export async function configOf(network: Network) {
    const { addresses } = await factsOf(network);
    const config = { encoding: 'base64', commitment: 'confirmed' };
    const { value } = await rpc<{ value: { data: [string, string] } }>('getAccountInfo', [addresses.config, config], network.rpc_url);
    const data = Buffer.from(value.data[0], 'base64').subarray(8);
    const key = (index: number): string => data.subarray(32 * index, 32 * index + 32).toString('hex');
    const number = (index: number): bigint => data.readBigInt64LE(352 + 8 * index);
    const parametersAt = 352 + 32;
    return {
        admin: key(0),
        resolver: key(2),
        gatewayAuthority: key(3),
        guardian: key(7),
        announcedResolver: key(8),
        rolesFrom: number(0),
        parametersFrom: number(2),
        revision: number(3),
        feeBps: data.readUInt32LE(parametersAt + 96),
        announcedFeeBps: data.readUInt32LE(parametersAt + 104 + 96),
        isOpeningsPaused: data[parametersAt + 208] === 1,
        isListingsPaused: data[parametersAt + 209] === 1,
    };
}

export const NOBODY = '0'.repeat(64);

/** Moves the chain's clock so many days ahead of this machine's. */
export async function travel({ rpc_url: url }: Network, days: number): Promise<void> {
    const target = Date.now() + days * 86_400_000;
    await rpc('surfnet_timeTravel', [{ absoluteTimestamp: target }], url);
    // The next block has the new time.
    await until(
        () => clockOf(url),
        (now) => now * 1_000 >= target - 2_000,
    );
}

/** The chain's time in seconds. */
async function clockOf(url: string): Promise<number> {
    const config = { encoding: 'base64', commitment: 'confirmed' };
    const { value } = await rpc<{ value: { data: [string] } }>('getAccountInfo', ['SysvarC1ock11111111111111111111111111111111', config], url);
    return Number(Buffer.from(value.data[0], 'base64').readBigInt64LE(32));
}

/** The 32 bytes of an address, in hexadecimal form. */
export const hexOf = (address: string): string => fromBase58(address, 32).toString('hex');

/** Lets the page see an index with problems, an audit with a fault, and totals of a month. */
export async function troubledNetwork(page: Page): Promise<void> {
    await page.route('**/v1/status', async (route) => {
        const answer = await route.fetch();
        const check = { compared: 1_204, faults: 0, unproven: 0, complete: true };
        const audit = {
            ok: false,
            complete: false,
            at: new Date(Date.now() - 900_000).toISOString(),
            slot: 4_100,
            source: 'node.example',
            witness: 'second.example',
            checks: { accounts: check, rows: { ...check, faults: 1 }, closed: { ...check, unproven: 12 }, documents: { ...check, complete: false } },
            faults: [{ check: 'rows', place: 'AS6jTZLxnQqWkAA4vv1NNsVCVecPMi7XrKngmkgK6xAM', message: 'the account does not exist' }],
        };
        const problems = [{ code: 'no_events', message: 'The node sends no events. The operator should look at it.' }];
        await route.fulfill({ json: { ...((await answer.json()) as object), status: 'stale', lag_seconds: 95, problems, last_audit: audit } });
    });
    await page.route('**/v1/history', (route) => {
        const days = [26, 21, 20, 14, 13, 12, 6, 5, 2, 1, 0].map((age, index) => ({
            day: new Date(Date.now() - age * 86_400_000).toISOString().slice(0, 10),
            completed_executions: (index * 37) % 120,
            failed_executions: index % 4,
            disputed_executions: index % 3 === 0 ? 1 : 0,
            volume_usdc: index * 2,
            fees_usdc: index / 50,
        }));
        return route.fulfill({ json: { window_days: 30, days } });
    });
}
