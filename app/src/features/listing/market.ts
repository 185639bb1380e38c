// What the chain says before a listing is made or changed: the marketplace's rules, the wallet's funds and profile, and
// the listing as it is.

import { type Address, type Rpc, type SolanaRpcApi, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { decodeOwned, hexOf, readAccounts, tokenAmount } from '../../chain/accounts';
import { findConfigAddress, findCreatorProfileAddress } from '../../chain/addresses';
import { readListing as readOnChain } from '../../chain/listing';
import { findTokenAccount } from '../../chain/token';
import { type AgentListed, getAgentListedDecoder } from '../../generated/accounts/agentListed';
import { CONFIG_DISCRIMINATOR, type Config, getConfigDecoder } from '../../generated/accounts/config';
import { CREATOR_PROFILE_DISCRIMINATOR, getCreatorProfileDecoder } from '../../generated/accounts/creatorProfile';
import type { Schemas } from '../../shared/api/client';
import { contentPath } from '../../shared/content';
import { type ReadDocument, hashOf, readDocument } from './form/document';
import type { RuleBook } from './form/rules';
import { words } from './words';
import { SELDOM_MS } from '../../shared/seldom';

type Network = Schemas['NetworkResponse'];

const TOKEN_ACCOUNT_BYTES = 165n;

export type Market = { readonly config: Config; readonly genesisHash: string };

export type Wallet = {
    readonly usdc: bigint;
    readonly lamports: bigint;
    /** Of the wallet's next listing. */
    readonly nextIndex: number;
    readonly hasProfile: boolean;
    /** Rent of the listing with its two token accounts, and of the profile if there is none yet. */
    readonly listingRent: bigint;
    readonly profileRent: bigint;
};

export class ChainError extends Error {}

const silent = (): never => {
    throw new ChainError(words.market.noChain);
};

export const rpcOf = (network: Network): Rpc<SolanaRpcApi> => {
    if (network.rpc_url === null) {
        throw new ChainError(words.market.noNode);
    }
    return createSolanaRpc(network.rpc_url);
};

export async function readMarket(rpc: Rpc<SolanaRpcApi>): Promise<Market> {
    const [[account], genesisHash] = await Promise.all([
        readAccounts(rpc, [await findConfigAddress()]),
        rpc.getGenesisHash().send(),
    ]).catch(silent);
    if (!account) throw new ChainError(words.market.noMarket);
    return { config: decodeOwned(account, getConfigDecoder(), CONFIG_DISCRIMINATOR), genesisHash };
}

export const marketQuery = (network: Network | undefined) =>
    queryOptions({
        queryKey: ['listing', 'market', network?.rpc_url ?? null] as const,
        queryFn: () => readMarket(rpcOf(network as Network)),
        enabled: network !== undefined,
        refetchInterval: SELDOM_MS,
    });

export async function readWallet(rpc: Rpc<SolanaRpcApi>, wallet: Address, mint: Address): Promise<Wallet> {
    const rentOf = (bytes: number | bigint): Promise<bigint> =>
        rpc.getMinimumBalanceForRentExemption(BigInt(bytes)).send().then(BigInt);
    const decoder = getCreatorProfileDecoder();
    const [[account, tokens, profileAccount], listing, tokenAccount, profile] = await Promise.all([
        readAccounts(rpc, [wallet, await findTokenAccount(wallet, mint), await findCreatorProfileAddress(wallet)]),
        rentOf(getAgentListedDecoder().fixedSize),
        rentOf(TOKEN_ACCOUNT_BYTES),
        rentOf(decoder.fixedSize),
    ]).catch(silent);
    const found = profileAccount ? decodeOwned(profileAccount, decoder, CREATOR_PROFILE_DISCRIMINATOR) : null;
    return {
        usdc: tokenAmount(tokens ?? null),
        lamports: account?.lamports ?? 0n,
        nextIndex: found?.nextAgentIndex ?? 0,
        hasProfile: found !== null,
        listingRent: listing + 2n * tokenAccount,
        profileRent: found === null ? profile : 0n,
    };
}

export const walletQuery = (network: Network | undefined, wallet: Address, market: Market | undefined) =>
    queryOptions({
        // Below the key of balances, so that a transaction of the wallet renews it.
        queryKey: ['balances', wallet, 'listing', network?.rpc_url ?? null] as const,
        queryFn: () => readWallet(rpcOf(network as Network), wallet, (market as Market).config.usdcMint),
        enabled: network !== undefined && market !== undefined,
        refetchInterval: SELDOM_MS,
    });

/** The rules of the forms, from the network's limits and the chain's parameters. */
export const ruleBookOf = (network: Network, { config }: Market): RuleBook => ({
    network,
    minPrice: config.parameters.minPrice,
    tiers: config.parameters.collateralTiers,
});

/** The listing; `null` if the chain has none at this address. */
export const readListing = (rpc: Rpc<SolanaRpcApi>, agent: Address): Promise<AgentListed | null> =>
    readOnChain(rpc, agent).catch(silent);

/** A listing with its document, or why the document cannot be edited. */
export type OwnListing = {
    readonly listing: AgentListed;
    readonly document: ReadDocument | null;
    readonly problem: string | null;
};

export const ownListingQuery = (network: Network | undefined, agentId: string) =>
    queryOptions({
        queryKey: ['listing', 'own', agentId, network?.rpc_url ?? null] as const,
        queryFn: async (): Promise<OwnListing | null> => {
            const listing = await readListing(rpcOf(network as Network), agentId as Address);
            return listing === null ? null : { listing, ...(await readOwnDocument(hexOf(listing.metadataHash))) };
        },
        enabled: network !== undefined,
        refetchInterval: SELDOM_MS,
    });

/** The bytes are checked against the hash on chain. */
async function readOwnDocument(sha256: string): Promise<Pick<OwnListing, 'document' | 'problem'>> {
    const answer = await fetch(contentPath(sha256)).catch(() => {
        throw new ChainError(words.market.noService);
    });
    if (answer.status === 404) return { document: null, problem: words.market.noDocument };
    if (!answer.ok) throw new ChainError(words.market.badAnswer(answer.status));
    const text = await answer.text();
    if (hexOf(await hashOf(text)) !== sha256) return { document: null, problem: words.market.otherBytes };
    try {
        return { document: readDocument(text), problem: null };
    } catch (error) {
        return {
            document: null,
            problem: error instanceof Error ? error.message : words.market.unreadable,
        };
    }
}
