// The deployed program, read from the node: its code, the hash of it, and who can replace it.

import { type Address, type ReadonlyUint8Array, createSolanaRpc, getAddressDecoder } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { type RawAccount, hexOf, readAccounts, startsWith } from '../../../chain/accounts';
import { words } from '../words';
import { COMMITTED_PROGRAM } from './committed';

const w = words.program;

const UPGRADEABLE_LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111' as Address;
/** Numbers of the loader's account states, little-endian. */
const PROGRAM = new Uint8Array([2, 0, 0, 0]);
const PROGRAM_DATA = new Uint8Array([3, 0, 0, 0]);
/** In a program account: the address of the account with the code. */
const DATA_ADDRESS_AT = 4;
/** In the account with the code: slot of the deployment, whether there is an authority, and which. */
const SLOT_AT = 4;
const HAS_AUTHORITY_AT = 12;
const AUTHORITY_AT = 13;
const CODE_AT = 45;

/** What the loader keeps in front of the code. */
export type Deployment = {
    readonly dataAddress: Address;
    /** 0: before the loader noted it. */
    readonly slot: bigint;
    /** `null`: nobody can replace the program. */
    readonly authority: Address | null;
};

export type DeployedProgram = Deployment & {
    /** Without the empty room that the loader keeps behind the code. */
    readonly bytes: number;
    /** SHA-256 of these bytes: what `solana-verify get-program-hash` prints. */
    readonly hash: string;
    /** Whether it is the program that this dashboard belongs to. */
    readonly isCommitted: boolean;
};

export const deploymentQuery = (rpcUrl: string | null, programId: string) =>
    queryOptions({
        queryKey: ['program', rpcUrl, programId, 'deployment'] as const,
        queryFn: () => readDeployment(accountsOf(rpcUrl, CODE_AT), programId as Address),
        enabled: rpcUrl !== null,
        staleTime: Infinity,
        retry: false,
    });

/** The code is half a megabyte, so it is read once, and when somebody asks for it. */
export const programQuery = (rpcUrl: string | null, programId: string, isWanted: boolean) =>
    queryOptions({
        queryKey: ['program', rpcUrl, programId, 'code'] as const,
        queryFn: () => readProgram(accountsOf(rpcUrl), programId as Address),
        enabled: rpcUrl !== null && isWanted,
        staleTime: Infinity,
        retry: false,
    });

export type ReadAccounts = (addresses: readonly Address[]) => Promise<RawAccount[]>;

/** `length`: of the part of each account that is read. */
const accountsOf =
    (rpcUrl: string | null, length?: number): ReadAccounts =>
    (addresses) =>
        readAccounts(createSolanaRpc(rpcUrl ?? ''), addresses, length).catch(() => {
            throw new Error(w.noAnswer);
        });

export async function readProgram(read: ReadAccounts, programId: Address): Promise<DeployedProgram> {
    const { data, ...deployment } = await readLoaded(read, programId);
    return { ...deployment, ...(await examine(data.subarray(CODE_AT))) };
}

/** The same without the code. */
export async function readDeployment(read: ReadAccounts, programId: Address): Promise<Deployment> {
    const { dataAddress, slot, authority } = await readLoaded(read, programId);
    return { dataAddress, slot, authority };
}

async function readLoaded(
    read: ReadAccounts,
    programId: Address,
): Promise<Deployment & { readonly data: Uint8Array<ArrayBuffer> }> {
    const [program] = await read([programId]);
    if (!isOf(program, PROGRAM)) throw new Error(w.noProgram);
    const dataAddress = getAddressDecoder().decode(program.data, DATA_ADDRESS_AT);
    const [account] = await read([dataAddress]);
    if (!isOf(account, PROGRAM_DATA)) throw new Error(w.noCode);
    const data = new Uint8Array(account.data);
    return {
        dataAddress,
        slot: new DataView(data.buffer).getBigUint64(SLOT_AT, true),
        authority: data[HAS_AUTHORITY_AT] === 1 ? getAddressDecoder().decode(data, AUTHORITY_AT) : null,
        data,
    };
}

const isOf = (account: RawAccount | undefined, state: ReadonlyUint8Array): account is NonNullable<RawAccount> =>
    account?.owner === UPGRADEABLE_LOADER && startsWith(account.data, state);

async function examine(
    room: Uint8Array<ArrayBuffer>,
): Promise<Pick<DeployedProgram, 'bytes' | 'hash' | 'isCommitted'>> {
    let end = room.length;
    while (end > 0 && room[end - 1] === 0) end -= 1;
    // The committed file may itself end with zeros.
    const isEmptyBehind = end <= COMMITTED_PROGRAM.bytes;
    const committed = await sha256(room.subarray(0, COMMITTED_PROGRAM.bytes));
    return {
        bytes: end,
        hash: await sha256(room.subarray(0, end)),
        isCommitted: isEmptyBehind && committed === COMMITTED_PROGRAM.sha256,
    };
}

const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
    hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
