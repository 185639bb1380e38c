// What a wallet holds, read from the chain itself.

import { type Address, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { findTokenAccount } from '../../chain/token';
import { RARELY_MS } from '../seldom';

export type Balances = { readonly lamports: bigint; readonly usdc: bigint };

/** Key of every query that a transaction of a wallet can change. */
export const balancesKey = (address: string) => ['balances', address] as const;

export const balancesQuery = (address: string, rpcUrl: string | null, mint: string) =>
    queryOptions({
        queryKey: balancesKey(address),
        queryFn: () => readBalances(address as Address, rpcUrl ?? '', mint as Address),
        enabled: rpcUrl !== null,
        refetchInterval: RARELY_MS,
    });

async function readBalances(wallet: Address, rpcUrl: string, mint: Address): Promise<Balances> {
    const rpc = createSolanaRpc(rpcUrl);
    const account = await findTokenAccount(wallet, mint);
    const [{ value: lamports }, usdc] = await Promise.all([
        rpc.getBalance(wallet, { commitment: 'confirmed' }).send(),
        // A wallet without a USDC account has no USDC.
        rpc
            .getTokenAccountBalance(account, { commitment: 'confirmed' })
            .send()
            .catch(() => null),
    ]);
    return { lamports, usdc: usdc === null ? 0n : BigInt(usdc.value.amount) };
}
