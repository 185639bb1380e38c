// Accounts of the program, read from an RPC node: checked to be the program's, then decoded.

import {
    type Address,
    type Decoder,
    type ReadonlyUint8Array,
    type Rpc,
    type SolanaRpcApi,
    getBase64Encoder,
} from '@solana/kit';

import { AGENT_MARKETPLACE_PROGRAM_ADDRESS } from '../generated/programs';

/** An account as the node has it; `null` if there is none. */
export type RawAccount = {
    readonly owner: Address;
    readonly data: ReadonlyUint8Array;
    readonly lamports: bigint;
} | null;

/** The accounts at those addresses, of one slot. `length`: of their first bytes, if not all are needed. */
export async function readAccounts(
    rpc: Rpc<SolanaRpcApi>,
    addresses: readonly Address[],
    length?: number,
): Promise<RawAccount[]> {
    const config = {
        encoding: 'base64',
        commitment: 'confirmed',
        ...(length !== undefined && { dataSlice: { offset: 0, length } }),
    } as const;
    const { value } = await rpc.getMultipleAccounts([...addresses], config).send();
    return value.map((found) =>
        found === null
            ? null
            : { owner: found.owner, data: getBase64Encoder().encode(found.data[0]), lamports: BigInt(found.lamports) },
    );
}

/** Decodes an account of the program. Throws if the account is of another program or of another kind. */
export function decodeOwned<T>(
    account: NonNullable<RawAccount>,
    decoder: Decoder<T>,
    discriminator: ReadonlyUint8Array,
): T {
    if (account.owner !== AGENT_MARKETPLACE_PROGRAM_ADDRESS) {
        throw new Error(`the account is owned by ${account.owner}, not by the marketplace program`);
    }
    return decodeBytes(account.data, decoder, discriminator);
}

/** Decodes bytes that are known to be of an account of the program. */
export function decodeBytes<T>(data: ReadonlyUint8Array, decoder: Decoder<T>, discriminator: ReadonlyUint8Array): T {
    if (!startsWith(data, discriminator)) throw new Error('the account is of another kind');
    return decoder.decode(data);
}

export const startsWith = (data: ReadonlyUint8Array, start: ReadonlyUint8Array): boolean =>
    data.length >= start.length && start.every((byte, index) => byte === data[index]);

export const sameBytes = (one: ReadonlyUint8Array, other: ReadonlyUint8Array): boolean =>
    one.length === other.length && startsWith(one, other);

/** Lower-case hexadecimal digits. */
export const hexOf = (bytes: ReadonlyUint8Array): string =>
    Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

const AMOUNT_AT = 64;

/** The balance of an SPL token account. */
export function tokenAmount(account: RawAccount): bigint {
    if (account === null || account.data.length < AMOUNT_AT + 8) return 0n;
    const bytes = new Uint8Array(account.data);
    return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(AMOUNT_AT, true);
}
