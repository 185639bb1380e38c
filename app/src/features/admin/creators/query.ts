// Who a creator is: the profile as the chain has it, and what the service knows about the wallet.

import { type Address, createSolanaRpc, isAddress } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { type Chain } from '../act/requests';
import { decodeOwned, readAccounts } from '../../../chain/accounts';
import { findCreatorProfileAddress } from '../../../chain/addresses';
import { CREATOR_PROFILE_DISCRIMINATOR, getCreatorProfileDecoder } from '../../../generated/accounts/creatorProfile';
import { type Schemas, api, body } from '../../../shared/api/client';

export type Profile = {
    readonly address: Address;
    /** Empty if the creator has set none. */
    readonly name: string;
    readonly isVerified: boolean;
    /** Seconds since 1970; 0 without the badge. */
    readonly verifiedAt: number;
    readonly createdAt: number;
};

/** `null`: the wallet has none, so it never listed an agent. */
export async function readProfile(rpc: Chain['rpc'], wallet: Address): Promise<Profile | null> {
    const address = await findCreatorProfileAddress(wallet);
    const [account] = await readAccounts(rpc, [address]);
    if (!account) return null;
    const profile = decodeOwned(account, getCreatorProfileDecoder(), CREATOR_PROFILE_DISCRIMINATOR);
    return {
        address,
        name: new TextDecoder().decode(new Uint8Array(profile.displayName).subarray(0, profile.displayNameLen)),
        isVerified: profile.verified === 1,
        verifiedAt: Number(profile.verifiedAtUnixS),
        createdAt: Number(profile.createdAtUnixS),
    };
}

export const profileQuery = (rpcUrl: string | null | undefined, wallet: string) =>
    queryOptions({
        queryKey: ['creator-profile', rpcUrl ?? null, wallet] as const,
        queryFn: () => readProfile(createSolanaRpc(rpcUrl ?? ''), wallet as Address),
        enabled: typeof rpcUrl === 'string' && isAddress(wallet),
    });

export const readWallet = (wallet: string, signal?: AbortSignal): Promise<Schemas['WalletResponse']> =>
    body(api.GET('/v1/wallets/{wallet}', { params: { path: { wallet } }, ...(signal && { signal }) }));

export const walletQuery = (wallet: string) =>
    queryOptions({
        queryKey: ['wallet', wallet, 'creator'] as const,
        queryFn: ({ signal }) => readWallet(wallet, signal),
        enabled: isAddress(wallet),
    });

export type NewCreator = { readonly wallet: string; readonly isVerified: boolean; readonly agents: readonly string[] };

const NEWEST = 50;

/** The creators of the newest agents, so that the admin need not know an address. */
export const newCreatorsQuery = queryOptions({
    queryKey: ['agents', 'new-creators'] as const,
    queryFn: async ({ signal }) => {
        const { agents } = await body(api.GET('/v1/agents', { params: { query: { sort: 'created_at', limit: NEWEST } }, signal }));
        return creatorsOf(agents);
    },
});

export function creatorsOf(agents: readonly Schemas['AgentSummary'][]): NewCreator[] {
    const found = new Map<string, { wallet: string; isVerified: boolean; agents: string[] }>();
    for (const { creator, name } of agents) {
        const known = found.get(creator.pubkey) ?? { wallet: creator.pubkey, isVerified: creator.verified, agents: [] };
        known.agents.push(name);
        found.set(creator.pubkey, known);
    }
    return [...found.values()];
}
