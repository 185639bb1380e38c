// What a wallet holds, what it lets its keys move, and what its keys may still spend. All keys of a wallet share one
// token approval. Each call takes its price out of it; a refund gives the price back to wallet and key, and not to the
// approval. So an approval has headroom ("Spending grant" in docs/specification.md).

import { type Address, type Instruction, type Rpc, type SolanaRpcApi, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { readAccounts } from '../../chain/accounts';
import { findSpenderAddress } from '../../chain/addresses';
import { approve, readHolding, revokeApproval } from '../../chain/approval';
import { readChainTime } from '../../chain/clock';
import { networkFee } from '../../chain/fee';
import { GRANT_BYTES, readGrants } from '../../chain/grants';
import { createTokenAccount, findTokenAccount } from '../../chain/token';
import type { SpendingGrant } from '../../generated/accounts/spendingGrant';
import type { Schemas } from '../../shared/api/client';
import { MAX_USDC } from '../../shared/money';
import { balancesKey } from '../../shared/wallet/balances';
import { isFollowed } from '../../shared/wallet/events';
import { words } from './words';

const TOKEN_ACCOUNT_BYTES = 165n;
const ASK_MS = 15_000;

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
            return reached(
                Promise.all([readFunds(rpc, wallet, network?.usdc_mint as Address), readCosts(rpc, wallet)]),
            );
        },
        enabled: network !== undefined && network.rpc_url !== null,
        // While events are followed, a page reads this again when the list of keys changes.
        refetchInterval: () => (isFollowed() ? false : ASK_MS),
    });

const reached = <T>(reading: Promise<T>): Promise<T> =>
    reading.catch(() => {
        throw new Error(words.approval.unreachable);
    });

export async function readFunds(rpc: Rpc<SolanaRpcApi>, wallet: Address, mint: Address): Promise<Funds> {
    const [account, spender] = await Promise.all([findTokenAccount(wallet, mint), findSpenderAddress(wallet)]);
    const [[token], grants, now] = await Promise.all([
        readAccounts(rpc, [account]),
        readGrants(rpc, wallet),
        readChainTime(rpc),
    ]);
    const { exists, amount, delegate } = readHolding(token ?? null);
    const ours = delegate?.address === spender ? delegate : null;
    return {
        grants,
        hasAccount: exists,
        holding: amount,
        approved: ours?.amount ?? 0n,
        otherDelegate: ours === null ? (delegate?.address ?? null) : null,
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
export const rentOfGrant = ({ grantRent, accountRent }: Costs, { hasAccount }: Funds): bigint =>
    grantRent + (hasAccount ? 0n : accountRent);

/** The least that a grant costs altogether: priority is paid only if the wallet can pay it. */
export const costOfGrant = (costs: Costs, funds: Funds): bigint => networkFee({}) + rentOfGrant(costs, funds);

export const grantOf = ({ grants }: Funds, sessionKey: string): SpendingGrant | undefined =>
    grants.find((grant) => grant.sessionKey === sessionKey);

/** Neither revoked nor expired. The last second counts. */
export const isLive = ({ revoked, expiresAtUnixS }: SpendingGrant, now: bigint): boolean =>
    revoked === 0 && now <= expiresAtUnixS;

/** What a grant may still spend: nothing once it is revoked or expired. */
export const leftOf = (grant: SpendingGrant, now: bigint): bigint =>
    isLive(grant, now) ? atLeastZero(grant.totalCap - grant.spent) : 0n;

/** What all keys of the wallet may still spend together; `except` leaves one key out. */
export const needed = ({ grants, now }: Funds, except?: string): bigint =>
    grants
        .filter(({ sessionKey }) => sessionKey !== except)
        .reduce((sum, grant) => bounded(sum + leftOf(grant, now)), 0n);

/** How much the approval is below what the keys may still spend. */
export const shortOf = (funds: Funds): bigint => atLeastZero(needed(funds) - funds.approved);

/** The most that one call of a grant can still take. */
const callOf = (grant: SpendingGrant, now: bigint): bigint => smaller(grant.perCallCap, leftOf(grant, now));

/** The most that one call of any key can still take; `except` leaves one key out. */
const dearestCall = ({ grants, now }: Funds, except?: string): bigint =>
    grants
        .filter(({ sessionKey }) => sessionKey !== except)
        .reduce((most, grant) => larger(most, callOf(grant, now)), 0n);

/** The page warns below so many calls; an approval has room for as many calls that are refunded. */
export const FEW_CALLS = 10n;
const HEADROOM_PART = 4n;

/**
 * What to approve for keys that may still spend `amount`, at most `call` at once: a quarter more, and at least ten
 * calls.
 */
const withHeadroom = (amount: bigint, call: bigint): bigint =>
    bounded(amount + larger(amount / HEADROOM_PART, FEW_CALLS * call));

/** The approval that the keys as they are should have. */
export const approvalFor = (funds: Funds): bigint => withHeadroom(needed(funds), dearestCall(funds));

/**
 * How many calls the approval pays for at least, also if all of them are refunded; `null` if no key can pay for any.
 */
export function callsLeft(funds: Funds): bigint | null {
    const call = dearestCall(funds);
    return call === 0n ? null : funds.approved / call;
}

/** Whether the approval is about to run out before the keys do. */
export const isLow = (funds: Funds): boolean =>
    (callsLeft(funds) ?? FEW_CALLS) < FEW_CALLS && funds.approved < approvalFor(funds);

/**
 * The approval that covers all keys if one of them may spend `total` in all, and `perCall` at once. An approval that is
 * larger already stays: the wallet's owner may want it so.
 */
export function approvalWith(funds: Funds, sessionKey: string, total: bigint, perCall = total): bigint {
    const own = atLeastZero(total - (grantOf(funds, sessionKey)?.spent ?? 0n));
    const call = larger(dearestCall(funds, sessionKey), smaller(perCall, own));
    return larger(withHeadroom(needed(funds, sessionKey) + own, call), funds.approved);
}

/**
 * The approval without one key: what that key could still have taken is taken back, with its headroom, as far as no
 * other key needs it. Nothing stays for no key.
 */
export function approvalWithout(funds: Funds, sessionKey: string): bigint {
    const grant = grantOf(funds, sessionKey);
    const others = needed(funds, sessionKey);
    if (grant === undefined || others === 0n) return grant === undefined ? funds.approved : 0n;
    const freed = withHeadroom(leftOf(grant, funds.now), callOf(grant, funds.now));
    const kept = withHeadroom(others, dearestCall(funds, sessionKey));
    return larger(atLeastZero(funds.approved - freed), smaller(kept, funds.approved));
}

/** The instructions that set the approval, and the USDC account first if there is none. */
export async function approvalInstructions(
    funds: Funds,
    wallet: Address,
    mint: Address,
    approved: bigint,
): Promise<Instruction[]> {
    const account = await findTokenAccount(wallet, mint);
    const instructions = funds.hasAccount ? [] : [createTokenAccount(wallet, account, wallet, mint)];
    if (approved === funds.approved && funds.hasAccount) return instructions;
    const change =
        approved === 0n
            ? revokeApproval(account, wallet)
            : approve(account, mint, await findSpenderAddress(wallet), wallet, approved);
    return [...instructions, change];
}

const atLeastZero = (amount: bigint): bigint => (amount < 0n ? 0n : amount);
const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other);
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other);
const bounded = (amount: bigint): bigint => (amount > MAX_USDC ? MAX_USDC : amount);
