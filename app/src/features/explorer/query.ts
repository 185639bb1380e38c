// What the node of a local network knows of a transaction or an account.

import { type Address, type Signature, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { type RawAccount, readAccounts } from '../../chain/accounts';
import { readWhole } from '../../chain/history';
import { words } from './words';

const NEWEST = 25;

const readable = async <T>(reading: Promise<T>): Promise<T> => {
    try {
        return await reading;
    } catch (error) {
        console.info('The chain could not be read:', error);
        throw new Error(words.noAnswer);
    }
};

export const transactionQuery = (signature: string, rpcUrl: string | null) =>
    queryOptions({
        queryKey: ['explorer-transaction', signature, rpcUrl] as const,
        queryFn: () => readable(readWhole(createSolanaRpc(rpcUrl ?? ''), signature as Signature)),
        enabled: rpcUrl !== null,
        staleTime: Infinity,
        structuralSharing: false,
    });

export type AccountView = {
    readonly account: RawAccount;
    readonly transactions: readonly { signature: string; time: number | null; hasFailed: boolean }[];
};

export const accountQuery = (address: string, rpcUrl: string | null) =>
    queryOptions({
        queryKey: ['explorer-account', address, rpcUrl] as const,
        queryFn: () => readable(readView(address as Address, rpcUrl ?? '')),
        enabled: rpcUrl !== null,
        structuralSharing: false,
    });

async function readView(address: Address, rpcUrl: string): Promise<AccountView> {
    const rpc = createSolanaRpc(rpcUrl);
    const [[account = null], listed] = await Promise.all([
        readAccounts(rpc, [address]),
        rpc.getSignaturesForAddress(address, { commitment: 'confirmed', limit: NEWEST }).send(),
    ]);
    const transactions = listed.map(({ signature, blockTime, err }) => ({
        signature,
        time: blockTime === null ? null : Number(blockTime),
        hasFailed: err !== null,
    }));
    return { account, transactions };
}
