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

/** In the order of the wallets. `null`: the wallet has none, so it never listed an agent. */
async function readProfiles(rpc: Chain['rpc'], wallets: readonly Address[]): Promise<(Profile | null)[]> {
    const addresses = await Promise.all(wallets.map((wallet) => findCreatorProfileAddress(wallet)));
    const accounts = addresses.length === 0 ? [] : await readAccounts(rpc, addresses);
    return addresses.map((address, index) => {
        const account = accounts[index];
        if (!account) return null;
        const profile = decodeOwned(account, getCreatorProfileDecoder(), CREATOR_PROFILE_DISCRIMINATOR);
        return {
            address,
            name: new TextDecoder().decode(new Uint8Array(profile.displayName).subarray(0, profile.displayNameLen)),
            isVerified: profile.verified === 1,
            verifiedAt: Number(profile.verifiedAtUnixS),
            createdAt: Number(profile.createdAtUnixS),
        };
    });
}

export const readProfile = async (rpc: Chain['rpc'], wallet: Address): Promise<Profile | null> =>
    (await readProfiles(rpc, [wallet]))[0] ?? null;

export const profileQuery = (rpcUrl: string | null | undefined, wallet: string) =>
    queryOptions({
        queryKey: ['creator-profile', rpcUrl ?? null, wallet] as const,
        queryFn: () => readProfile(createSolanaRpc(rpcUrl ?? ''), wallet as Address),
        enabled: typeof rpcUrl === 'string' && isAddress(wallet),
    });

export const walletQuery = (wallet: string) =>
    queryOptions({
        queryKey: ['wallet', wallet, 'creator'] as const,
        queryFn: ({ signal }) => body(api.GET('/v1/wallets/{wallet}', { params: { path: { wallet } }, signal })),
        enabled: isAddress(wallet),
    });

export type NewCreator = {
    readonly wallet: string;
    /** What the badge is for; empty if the creator has set none. */
    readonly displayName: string;
    readonly isVerified: boolean;
    readonly agents: readonly string[];
};

const NEWEST = 50;

/**
 * The creators of the newest agents, so that the admin need not know an address. The badge is for the name on the
 * chain.
 */
export const newCreatorsQuery = (rpcUrl: string | null | undefined) =>
    queryOptions({
        queryKey: ['agents', 'new-creators', rpcUrl ?? null] as const,
        queryFn: async ({ signal }) => {
            const { agents } = await body(
                api.GET('/v1/agents', { params: { query: { sort: 'created_at', limit: NEWEST } }, signal }),
            );
            const creators = creatorsOf(agents);
            const profiles = await readProfiles(
                createSolanaRpc(rpcUrl ?? ''),
                creators.map(({ wallet }) => wallet as Address),
            );
            return creators.map((creator, index) => withProfile(creator, profiles[index] ?? null));
        },
        enabled: typeof rpcUrl === 'string',
    });

/** The chain has the last word: the index may be behind. */
const withProfile = (creator: NewCreator, profile: Profile | null): NewCreator =>
    profile === null ? creator : { ...creator, displayName: profile.name, isVerified: profile.isVerified };

export function creatorsOf(agents: readonly Schemas['AgentSummary'][]): NewCreator[] {
    const found = new Map<string, NewCreator & { agents: string[] }>();
    for (const { creator, name } of agents) {
        const known = found.get(creator.pubkey) ?? {
            wallet: creator.pubkey,
            displayName: '',
            isVerified: creator.verified,
            agents: [],
        };
        known.agents.push(name);
        found.set(creator.pubkey, known);
    }
    return [...found.values()];
}
