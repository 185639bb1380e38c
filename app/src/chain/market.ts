// The marketplace's configuration as the chain has it: roles, parameters, what is announced, and the chain's time.

import { type Address, type Rpc, type SolanaRpcApi, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { CONFIG_DISCRIMINATOR, type Config, getConfigDecoder } from '../generated/accounts/config';
import { type RawAccount, decodeOwned, readAccounts } from './accounts';
import { findConfigAddress } from './addresses';
import { RARELY_MS } from '../shared/seldom';
import { words } from './words';

/** The program stores this for a role that nobody has, and in an announcement that names nobody. */
export const NOBODY = '11111111111111111111111111111111' as Address;

const CLOCK = 'SysvarC1ock11111111111111111111111111111111' as Address;
/** The offset of the time in the account of the clock. */
const TIME_AT = 32;
/** The chain's clock may differ from this machine's by so much without being counted as moved. */
const USUAL_DISTANCE_S = 120;

export type Market = {
    readonly config: Config;
    /** Seconds since 1970, by the clock that the program asks. */
    readonly now: number;
    /**
     * Seconds by which that clock is ahead of this machine's; 0 unless it is far. A local network can be moved in time.
     */
    readonly ahead: number;
};

export async function readMarket(rpc: Rpc<SolanaRpcApi>): Promise<Market> {
    const [config, clock] = await readAccounts(rpc, [await findConfigAddress(), CLOCK]);
    if (!config || !clock) throw new Error(words.noMarket);
    const now = timeOf(clock);
    const ahead = now - Math.floor(Date.now() / 1_000);
    return {
        config: decodeOwned(config, getConfigDecoder(), CONFIG_DISCRIMINATOR),
        now,
        ahead: Math.abs(ahead) > USUAL_DISTANCE_S ? ahead : 0,
    };
}

function timeOf({ data }: NonNullable<RawAccount>): number {
    const bytes = new Uint8Array(data);
    return Number(new DataView(bytes.buffer).getBigInt64(TIME_AT, true));
}

/** `null`: the service names no node. */
export const marketQuery = (rpcUrl: string | null | undefined) =>
    queryOptions({
        queryKey: ['market', rpcUrl ?? null] as const,
        queryFn: () => readMarket(createSolanaRpc(rpcUrl ?? '')),
        enabled: typeof rpcUrl === 'string',
        refetchInterval: RARELY_MS,
    });
