// What the chain and the service say about a creator. The chain is believed where both know it: the index may be
// behind.

import { type Address, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { readAccounts, decodeOwned } from '../../chain/accounts';
import { findCreatorProfileAddress } from '../../chain/addresses';
import { readOwnAgent, readOwnListings } from '../../chain/listing';
import { CREATOR_PROFILE_DISCRIMINATOR, getCreatorProfileDecoder } from '../../generated/accounts/creatorProfile';
import { type Schemas, api, body } from '../../shared/api/client';
import { RARELY_MS, SELDOM_MS } from '../../shared/seldom';
import { words } from './words';

export type WalletAgent = Schemas['WalletAgent'];
export type Wallet = Schemas['WalletResponse'];

export const walletQuery = (wallet: string) =>
    queryOptions({
        queryKey: ['wallet', wallet] as const,
        queryFn: ({ signal }): Promise<Wallet> =>
            body(api.GET('/v1/wallets/{wallet}', { params: { path: { wallet } }, signal })),
        refetchInterval: SELDOM_MS,
    });

/** All listings of a wallet, by the chain. */
export const ownListingsQuery = (wallet: string, rpcUrl: string | null) =>
    queryOptions({
        queryKey: ['own-listings', wallet, rpcUrl] as const,
        queryFn: () => reached(readOwnListings(createSolanaRpc(rpcUrl ?? ''), wallet as Address)),
        enabled: rpcUrl !== null,
        // Events and transactions of the page make it be read again; no event tells of a call that begins or fails.
        refetchInterval: RARELY_MS,
    });

/** One listing with what its creator's transactions depend on, by the chain. */
export const ownAgentQuery = (agentId: string, wallet: string, network: Schemas['NetworkResponse'] | undefined) =>
    queryOptions({
        queryKey: ['own-agent', agentId, wallet, network?.rpc_url ?? null] as const,
        queryFn: () =>
            reached(
                readOwnAgent(
                    createSolanaRpc(network?.rpc_url ?? ''),
                    agentId as Address,
                    wallet as Address,
                    network?.usdc_mint as Address,
                ),
            ),
        enabled: network !== undefined && network.rpc_url !== null,
        refetchInterval: SELDOM_MS,
    });

export type Profile = {
    /** Empty until one is set. */
    readonly name: string;
    readonly isVerified: boolean;
    readonly closedAgents: number;
};

/** `profile` is `null` before the first listing and the first name. `rent`: what making it costs. */
export const profileQuery = (wallet: string, rpcUrl: string | null) =>
    queryOptions({
        queryKey: ['creator-profile', wallet, rpcUrl] as const,
        queryFn: () => reached(readProfile(wallet as Address, rpcUrl ?? '')),
        enabled: rpcUrl !== null,
    });

export async function readProfile(wallet: Address, rpcUrl: string): Promise<{ profile: Profile | null; rent: bigint }> {
    const rpc = createSolanaRpc(rpcUrl);
    const decoder = getCreatorProfileDecoder();
    const [[account], rent] = await Promise.all([
        findCreatorProfileAddress(wallet).then((address) => readAccounts(rpc, [address])),
        rpc.getMinimumBalanceForRentExemption(BigInt(decoder.fixedSize)).send(),
    ]);
    if (!account) return { profile: null, rent: BigInt(rent) };
    const found = decodeOwned(account, decoder, CREATOR_PROFILE_DISCRIMINATOR);
    const name = new TextDecoder().decode(new Uint8Array(found.displayName).slice(0, found.displayNameLen));
    return {
        profile: { name, isVerified: found.verified === 1, closedAgents: Number(found.closed.agents) },
        rent: BigInt(rent),
    };
}

/** Reports that the node is unreachable instead of the error of its transport, which helps nobody. */
export async function reached<T>(reading: Promise<T>): Promise<T> {
    try {
        return await reading;
    } catch (error) {
        console.info('The chain could not be read:', error);
        throw new Error(words.noChain);
    }
}
