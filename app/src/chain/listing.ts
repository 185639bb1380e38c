// Listings on the chain: one of them with everything that its creator's transactions depend on, or all of a creator.

import { type Address, type Base58EncodedBytes, type Rpc, type SolanaRpcApi, getBase64Encoder } from '@solana/kit';

import { AGENT_LISTED_DISCRIMINATOR, type AgentListed, getAgentListedDecoder } from '../generated/accounts/agentListed';
import { CONFIG_DISCRIMINATOR, getConfigDecoder } from '../generated/accounts/config';
import { AGENT_MARKETPLACE_PROGRAM_ADDRESS } from '../generated/programs';
import type { CollateralTier } from '../generated/types/collateralTier';
import { type RawAccount, decodeBytes, decodeOwned, readAccounts, startsWith, tokenAmount } from './accounts';
import { findCollateralVaultAddress, findConfigAddress, findEscrowAddress } from './addresses';
import { CLOCK_ADDRESS, unixTimeOf } from './clock';
import { findTokenAccount } from './token';
import { words } from './words';

export type Listed = { readonly address: Address; readonly listing: AgentListed };

/** What the chain says about an agent and its creator's wallet, at one moment. */
export type OwnAgent = {
    /** `null`: closed, never listed, or not the address of a listing. */
    readonly listing: AgentListed | null;
    readonly tiers: readonly CollateralTier[];
    readonly graceSeconds: number;
    readonly mint: Address;
    /** Seconds since 1970 by the chain's clock. */
    readonly now: number;
    /** Lamports of the listing, its escrow and its collateral account. */
    readonly rent: bigint;
    readonly wallet: {
        readonly lamports: bigint;
        readonly usdc: bigint;
        readonly tokenAccount: Address;
        readonly hasTokenAccount: boolean;
    };
};

export async function readOwnAgent(
    rpc: Rpc<SolanaRpcApi>,
    agent: Address,
    wallet: Address,
    mint: Address,
): Promise<OwnAgent> {
    const tokenAccount = await findTokenAccount(wallet, mint);
    const accounts = [agent, await findEscrowAddress(agent), await findCollateralVaultAddress(agent)];
    const others = [await findConfigAddress(), CLOCK_ADDRESS, wallet, tokenAccount];
    const found = await readAccounts(rpc, [...accounts, ...others]);
    const [listing, , , config, clock, payer, token] = found;
    if (!config) throw new Error(words.noMarket);
    const { parameters, usdcMint } = decodeOwned(config, getConfigDecoder(), CONFIG_DISCRIMINATOR);
    return {
        listing: listingOf(listing ?? null),
        tiers: parameters.collateralTiers,
        graceSeconds: Number(parameters.settleGraceS),
        mint: usdcMint,
        now: unixTimeOf(clock ?? null),
        rent: found.slice(0, accounts.length).reduce((sum, account) => sum + (account?.lamports ?? 0n), 0n),
        wallet: {
            lamports: payer?.lamports ?? 0n,
            usdc: tokenAmount(token ?? null),
            tokenAccount,
            hasTokenAccount: token !== null && token !== undefined,
        },
    };
}

/** One listing; `null` if the chain has none at this address. */
export async function readListing(rpc: Rpc<SolanaRpcApi>, agent: Address): Promise<AgentListed | null> {
    const [account] = await readAccounts(rpc, [agent]);
    return listingOf(account ?? null);
}

/** `null` for an account of another kind, such as a wallet. */
function listingOf(account: RawAccount): AgentListed | null {
    const isListing =
        account?.owner === AGENT_MARKETPLACE_PROGRAM_ADDRESS && startsWith(account.data, AGENT_LISTED_DISCRIMINATOR);
    return isListing ? getAgentListedDecoder().decode(account.data) : null;
}

const CREATOR_AT = 8n;

/** All listings of a creator that are not closed, and what they need. */
export type OwnListings = {
    readonly listed: readonly Listed[];
    readonly tiers: readonly CollateralTier[];
    readonly now: number;
};

export async function readOwnListings(rpc: Rpc<SolanaRpcApi>, creator: Address): Promise<OwnListings> {
    const decoder = getAgentListedDecoder();
    const filters = [
        { dataSize: BigInt(decoder.fixedSize) },
        { memcmp: { offset: CREATOR_AT, bytes: creator as string as Base58EncodedBytes, encoding: 'base58' as const } },
    ];
    const config = { encoding: 'base64', commitment: 'confirmed', filters } as const;
    const [found, [settings, clock]] = await Promise.all([
        rpc.getProgramAccounts(AGENT_MARKETPLACE_PROGRAM_ADDRESS, config).send(),
        findConfigAddress().then((address) => readAccounts(rpc, [address, CLOCK_ADDRESS])),
    ]);
    const listed = found.map(({ pubkey, account }) => {
        const data = getBase64Encoder().encode(account.data[0]);
        return { address: pubkey, listing: decodeBytes(data, decoder, AGENT_LISTED_DISCRIMINATOR) };
    });
    return { listed, tiers: tiersOf(settings ?? null), now: unixTimeOf(clock ?? null) };
}

function tiersOf(config: RawAccount): readonly CollateralTier[] {
    if (config === null) throw new Error(words.noMarket);
    return decodeOwned(config, getConfigDecoder(), CONFIG_DISCRIMINATOR).parameters.collateralTiers;
}
