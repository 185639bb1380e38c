// What the chain says before a call: the agent's terms, what the wallet has, and everything that would make a call
// fail.

import { type Address, type Rpc, type SolanaRpcApi, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { decodeOwned, hexOf, readAccounts, tokenAmount } from '../../../chain/accounts';
import { findConfigAddress } from '../../../chain/addresses';
import { freeCollateral } from '../../../chain/collateral';
import { networkFee } from '../../../chain/fee';
import { OPEN_RECORD_BYTES } from '../../../chain/record';
import { StoredAgentStatus } from '../../../chain/stored';
import { termsHash } from '../../../chain/terms';
import { findTokenAccount } from '../../../chain/token';
import { AGENT_LISTED_DISCRIMINATOR, getAgentListedDecoder } from '../../../generated/accounts/agentListed';
import { CONFIG_DISCRIMINATOR, getConfigDecoder } from '../../../generated/accounts/config';
import type { Schemas } from '../../../shared/api/client';
import { SELDOM_MS } from '../../../shared/seldom';
import { words } from '../words';

const t = words.terms;

export type CallTerms = {
    readonly price: bigint;
    readonly timeoutSeconds: number;
    readonly graceSeconds: number;
    readonly binding: boolean;
    /** The free collateral that the creator promises, in prices of one call. */
    readonly minCover: number;
    readonly freeCollateral: bigint;
    /** Hexadecimal digits. */
    readonly termsHash: string;
    readonly creator: Address;
    readonly isActive: boolean;
    /** The admin or the guardian stopped new calls of the agent. */
    readonly isSuspended: boolean;
    /** They stopped new calls of every agent. */
    readonly isMarketPaused: boolean;
    readonly minPrice: bigint;
    readonly mint: Address;
    readonly genesisHash: string;
    /** What opening costs in SOL: the fee, and the rent that comes back when the record is closed. */
    readonly lamportsNeeded: bigint;
    readonly rent: bigint;
};

/** Why the program would refuse the opening: disputes claim what the creator promises to keep free. `null`: it is free. */
export function coverProblem({ price, minCover, freeCollateral }: CallTerms): string | null {
    const promised = price * BigInt(minCover);
    return freeCollateral >= promised ? null : words.uncovered.text(promised, freeCollateral);
}

export type Funds = { readonly usdc: bigint; readonly lamports: bigint };

export const callTermsQuery = (agentId: string, network: Schemas['NetworkResponse'] | undefined) =>
    queryOptions({
        queryKey: ['call-terms', agentId, network?.rpc_url ?? null] as const,
        queryFn: ({ client }) => {
            const url = network?.rpc_url ?? '';
            const fixed = (): Promise<Fixed> => client.query({ ...fixedQuery(url), staleTime: 'static' });
            return reached(readTerms(createSolanaRpc(url), agentId as Address, fixed));
        },
        enabled: network !== undefined && network.rpc_url !== null,
        refetchInterval: SELDOM_MS,
    });

/** What a chain never changes, read once. */
type Fixed = { readonly rent: bigint; readonly genesisHash: string };

const fixedQuery = (url: string) =>
    queryOptions({ queryKey: ['chain-fixed', url] as const, queryFn: () => readFixed(createSolanaRpc(url)) });

async function readFixed(rpc: Rpc<SolanaRpcApi>): Promise<Fixed> {
    const rent = rpc.getMinimumBalanceForRentExemption(BigInt(OPEN_RECORD_BYTES)).send();
    return { rent: await rent, genesisHash: await rpc.getGenesisHash().send() };
}

/** An error with a sentence that helps the user; other errors are not shown. */
class TermsError extends Error {}

const reached = (reading: Promise<CallTerms>): Promise<CallTerms> =>
    reading.catch((error: unknown) => {
        if (error instanceof TermsError) throw error;
        throw new TermsError(t.unreachable);
    });

export async function readTerms(
    rpc: Rpc<SolanaRpcApi>,
    agent: Address,
    fixed: () => Promise<Fixed> = () => readFixed(rpc),
): Promise<CallTerms> {
    const [[configAccount, listingAccount], { rent, genesisHash }] = await Promise.all([
        readAccounts(rpc, [await findConfigAddress(), agent]),
        fixed(),
    ]);
    if (!configAccount) throw new TermsError(t.noMarket);
    if (!listingAccount) throw new TermsError(t.noAgent);
    const config = decodeOwned(configAccount, getConfigDecoder(), CONFIG_DISCRIMINATOR);
    const listing = decodeOwned(listingAccount, getAgentListedDecoder(), AGENT_LISTED_DISCRIMINATOR);
    return {
        price: listing.price,
        timeoutSeconds: listing.timeoutSeconds,
        graceSeconds: Number(config.parameters.settleGraceS),
        binding: listing.binding === 1,
        minCover: listing.minCover,
        freeCollateral: freeCollateral(listing),
        termsHash: hexOf(await termsHash(listing, config.parameters)),
        creator: listing.creator,
        isActive: listing.status === StoredAgentStatus.Active,
        isSuspended: listing.suspended !== 0,
        isMarketPaused: config.openingsPaused !== 0,
        minPrice: config.parameters.minPrice,
        mint: config.usdcMint,
        genesisHash,
        lamportsNeeded: rent + networkFee({}),
        rent,
    };
}

export const fundsQuery = (wallet: string | undefined, rpcUrl: string | null, mint: Address | undefined) =>
    queryOptions({
        // Below the key of balances, so that a transaction of the wallet renews it.
        queryKey: ['balances', wallet, 'call', mint] as const,
        queryFn: () => readFunds(createSolanaRpc(rpcUrl ?? ''), wallet as Address, mint as Address),
        enabled: wallet !== undefined && rpcUrl !== null && mint !== undefined,
        refetchInterval: SELDOM_MS,
    });

async function readFunds(rpc: Rpc<SolanaRpcApi>, wallet: Address, mint: Address): Promise<Funds> {
    const [account, tokens] = await readAccounts(rpc, [wallet, await findTokenAccount(wallet, mint)]);
    return { lamports: account?.lamports ?? 0n, usdc: tokenAmount(tokens ?? null) };
}
