// The chain's own time. The program's rules follow it, and not the clock of this computer; it can be seconds behind
// that clock.

import { type Address, type Rpc, type SolanaRpcApi } from '@solana/kit';

import { type RawAccount, readAccounts } from './accounts';
import { words } from './words';

/** The account in which the chain keeps its time. */
export const CLOCK_ADDRESS = 'SysvarC1ock11111111111111111111111111111111' as Address;

/** The offset of the time: behind slot, start of the epoch, epoch, and epoch of the leader schedule. */
const UNIX_TIME_AT = 32;

/** Seconds since 1970. */
export function unixTimeOf(clock: RawAccount): number {
    if (clock === null || clock.data.length < UNIX_TIME_AT + 8) throw new Error(words.noClock);
    const bytes = new Uint8Array(clock.data);
    return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(UNIX_TIME_AT, true));
}

/** The chain's time, read from a node. */
export async function readChainTime(rpc: Rpc<SolanaRpcApi>): Promise<bigint> {
    const [clock] = await readAccounts(rpc, [CLOCK_ADDRESS]);
    return BigInt(unixTimeOf(clock ?? null));
}
