// What a wallet holds, what it lets its keys move, and what its keys may still spend. All keys of a wallet share one token
// approval. The same rules as `crtx key` (cli/src/keys/funds.rs).

import { type Address, type Instruction, type Rpc, type SolanaRpcApi, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { readAccounts } from '../../chain/accounts';
import { findSpenderAddress } from '../../chain/addresses';
import { approve, readHolding, revokeApproval } from '../../chain/approval';
import { readChainTime } from '../../chain/clock';
import { highestFee } from '../../chain/fee';
import { GRANT_BYTES, readGrants } from '../../chain/grants';
import { createTokenAccount, findTokenAccount } from '../../chain/token';
import type { SpendingGrant } from '../../generated/accounts/spendingGrant';
import type { Schemas } from '../../shared/api/client';
import { MAX_USDC } from '../../shared/money';
import { balancesKey } from '../../shared/wallet/balances';

const TOKEN_ACCOUNT_BYTES = 165n;

export type Funds = {
    readonly grants: readonly SpendingGrant[];
    /** Whether the wallet has a USDC account. */
    readonly hasAccount: boolean;
    readonly holding: bigint;
    /** What the spender address of the wallet may move. */
    readonly approved: bigint;
    /** Another address that the wallet approved. An account has room for one. */
    readonly otherDelegate: Address | null;
    /** The chain's time. */
    readonly now: bigint;
};

/** What a new grant costs in SOL. */
export type Costs = { readonly lamports: bigint; readonly grantRent: bigint; readonly accountRent: bigint };

export const fundsQuery = (wallet: Address, network: Schemas['NetworkResponse'] | undefined) =>
    queryOptions({
        // Below the key of balances, so that a transaction of the wallet renews it.
        queryKey: [...balancesKey(wallet), 'keys', network?.rpc_url ?? null] as const,
        queryFn: async () => {
            const rpc = createSolanaRpc(network?.rpc_url ?? '');
            return reached(Promise.all([readFunds(rpc, wallet, network?.usdc_mint as Address), readCosts(rpc, wallet)]));
        },
        enabled: network !== undefined && network.rpc_url !== null,
        refetchInterval: 10_000,
    });

const reached = <T>(reading: Promise<T>): Promise<T> =>
    reading.catch(() => {
        throw new Error('The Solana network does not answer, so balance and approval are not known. Check the connection, then try again.');
    });

export async function readFunds(rpc: Rpc<SolanaRpcApi>, wallet: Address, mint: Address): Promise<Funds> {
    const [account, spender] = await Promise.all([findTokenAccount(wallet, mint), findSpenderAddress(wallet)]);
    const [[token], grants, now] = await Promise.all([readAccounts(rpc, [account]), readGrants(rpc, wallet), readChainTime(rpc)]);
    const { exists, amount, delegate } = readHolding(token ?? null);
    const isOurs = delegate?.address === spender;
    return {
        grants,
        hasAccount: exists,
        holding: amount,
        approved: isOurs ? (delegate?.amount ?? 0n) : 0n,
        otherDelegate: isOurs ? null : (delegate?.address ?? null),
        now,
    };
}

async function readCosts(rpc: Rpc<SolanaRpcApi>, wallet: Address): Promise<Costs> {
    const [{ value: lamports }, grantRent, accountRent] = await Promise.all([
        rpc.getBalance(wallet, { commitment: 'confirmed' }).send(),
        rpc.getMinimumBalanceForRentExemption(BigInt(GRANT_BYTES)).send(),
        rpc.getMinimumBalanceForRentExemption(TOKEN_ACCOUNT_BYTES).send(),
    ]);
    return { lamports, grantRent, accountRent };
}

/** Rent in lamports that the first grant of a key takes from the wallet. */
export const rentOfGrant = ({ grantRent, accountRent }: Costs, { hasAccount }: Funds): bigint => grantRent + (hasAccount ? 0n : accountRent);

/** The most that it takes altogether. */
export const costOfGrant = (costs: Costs, funds: Funds): bigint => highestFee() + rentOfGrant(costs, funds);

export const grantOf = ({ grants }: Funds, sessionKey: string): SpendingGrant | undefined =>
    grants.find((grant) => grant.sessionKey === sessionKey);

/** Neither revoked nor expired. The last second counts. */
export const isLive = ({ revoked, expiresAtUnixS }: SpendingGrant, now: bigint): boolean => revoked === 0 && now <= expiresAtUnixS;

/** What a grant may still spend: nothing once it is revoked or expired. */
export const leftOf = (grant: SpendingGrant, now: bigint): bigint =>
    isLive(grant, now) ? atLeastZero(grant.totalCap - grant.spent) : 0n;

/** What all keys of the wallet may still spend together; `except` leaves one key out. */
export const needed = ({ grants, now }: Funds, except?: string): bigint =>
    grants.filter(({ sessionKey }) => sessionKey !== except).reduce((sum, grant) => bounded(sum + leftOf(grant, now)), 0n);

/** How much the approval is below what the keys may still spend. */
export const shortOf = (funds: Funds): bigint => atLeastZero(needed(funds) - funds.approved);

/**
 * The approval that covers all keys if one of them may spend `total` in all. An approval that is larger already stays:
 * the wallet's owner may want it so.
 */
export function approvalWith(funds: Funds, sessionKey: string, total: bigint): bigint {
    const own = atLeastZero(total - (grantOf(funds, sessionKey)?.spent ?? 0n));
    return larger(bounded(needed(funds, sessionKey) + own), funds.approved);
}

/** The approval without one key: what that key could still have spent is taken back, as far as no other key needs it. */
export function approvalWithout(funds: Funds, sessionKey: string): bigint {
    const grant = grantOf(funds, sessionKey);
    const freed = grant === undefined ? 0n : leftOf(grant, funds.now);
    const others = needed(funds, sessionKey);
    return larger(atLeastZero(funds.approved - freed), others < funds.approved ? others : funds.approved);
}

/** The instructions that set the approval, and the USDC account first if there is none. */
export async function approvalInstructions(funds: Funds, wallet: Address, mint: Address, approved: bigint): Promise<Instruction[]> {
    const account = await findTokenAccount(wallet, mint);
    const instructions = funds.hasAccount ? [] : [createTokenAccount(wallet, account, wallet, mint)];
    if (approved === funds.approved && funds.hasAccount) return instructions;
    const change = approved === 0n ? revokeApproval(account, wallet) : approve(account, mint, await findSpenderAddress(wallet), wallet, approved);
    return [...instructions, change];
}

const atLeastZero = (amount: bigint): bigint => (amount < 0n ? 0n : amount);
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other);
const bounded = (amount: bigint): bigint => (amount > MAX_USDC ? MAX_USDC : amount);
