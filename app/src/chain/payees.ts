// USDC accounts of those who are paid. Not in `token.ts`: the header uses that, and would load the whole client of the
// program with it.

import type { Address, Instruction, Rpc, SolanaRpcApi } from '@solana/kit';

import { readAccounts } from './accounts';
import { createTokenAccount, findTokenAccount } from './token';

/** Creates missing USDC accounts of those who are paid; anybody may create them. */
export async function createMissingAccounts(
    rpc: Rpc<SolanaRpcApi>,
    payer: Address,
    mint: Address,
    owners: readonly Address[],
): Promise<Instruction[]> {
    if (owners.length === 0) return [];
    const addresses = await Promise.all(owners.map((owner) => findTokenAccount(owner, mint)));
    const found = await readAccounts(rpc, addresses);
    return owners.flatMap((owner, index) => {
        const account = addresses[index];
        return account !== undefined && found[index] === null ? [createTokenAccount(payer, account, owner, mint)] : [];
    });
}
