// A dispute and every account that its rules depend on, as the chain has them at one moment. Closed accounts are read
// from the transaction that closed them.

import { type Address, type Decoder, type ReadonlyUint8Array, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { type RawAccount, decodeBytes, decodeOwned, readAccounts } from '../../../chain/accounts';
import { findConfigAddress, findDisputeAddress } from '../../../chain/addresses';
import { CLOCK_ADDRESS, unixTimeOf } from '../../../chain/clock';
import { History } from '../../../chain/history';
import { NOBODY } from '../../../chain/market';
import { StoredDisputeOutcome as Outcome } from '../../../chain/stored';
import { findClosed } from '../../../chain/story';
import {
    AGENT_LISTED_DISCRIMINATOR,
    type AgentListed,
    getAgentListedDecoder,
} from '../../../generated/accounts/agentListed';
import { CONFIG_DISCRIMINATOR, type Config, getConfigDecoder } from '../../../generated/accounts/config';
import { DISPUTE_DISCRIMINATOR, type Dispute, getDisputeDecoder } from '../../../generated/accounts/dispute';
import {
    EXECUTION_RECORD_DISCRIMINATOR,
    type ExecutionRecord,
    getExecutionRecordDecoder,
} from '../../../generated/accounts/executionRecord';
import type { Status } from '../search';
import { words } from '../words';
import { RARELY_MS } from '../../../shared/seldom';

/** Seconds that the creator has before a dispute can be upheld without an answer. */
export const ANSWER_PERIOD_S = 24 * 60 * 60;
/** Seconds that the resolver has; afterwards anybody can end the dispute. */
export const LIMIT_S = 30 * 24 * 60 * 60;
/** Seconds in which the resolver means to decide. Nothing enforces it. */
export const RESPONSE_TARGET_S = 72 * 60 * 60;

export type Case = {
    readonly recordAddress: Address;
    readonly disputeAddress: Address;
    readonly record: ExecutionRecord;
    readonly dispute: Dispute;
    /** `null` if the listing is closed. */
    readonly agent: AgentListed | null;
    readonly config: Config;
    /** Time of the chain, in seconds since 1970. */
    readonly now: number;
};

export const caseQuery = (record: string | undefined, rpcUrl: string | null | undefined) =>
    queryOptions({
        queryKey: ['dispute-case', record, rpcUrl ?? null] as const,
        queryFn: () => readCase(rpcUrl ?? '', record as Address),
        enabled: record !== undefined && typeof rpcUrl === 'string',
        // The time of the chain passes without events, and the resolver has none.
        refetchInterval: ({ state: { data } }) => (data === undefined || isOpen(data) ? RARELY_MS : false),
    });

export async function readCase(rpcUrl: string, recordAddress: Address): Promise<Case> {
    const rpc = createSolanaRpc(rpcUrl);
    const [disputeAddress, configAddress] = await Promise.all([findDisputeAddress(recordAddress), findConfigAddress()]);
    const closed = async (address: Address): Promise<ReadonlyUint8Array> => {
        const found = await findClosed(new History(rpc, address), recordAddress);
        if (found === null) throw new Error(words.refusals.noDispute);
        return found.bytes;
    };
    const decode = async <T>(
        account: RawAccount | undefined,
        address: Address,
        decoder: Decoder<T>,
        kind: ReadonlyUint8Array,
    ): Promise<T> =>
        account ? decodeOwned(account, decoder, kind) : decodeBytes(await closed(address), decoder, kind);
    const recordOf = (account: RawAccount | undefined) =>
        decode(account, recordAddress, getExecutionRecordDecoder(), EXECUTION_RECORD_DISCRIMINATOR);

    // The agent of a record never changes, so the record may be read first. Everything else is read at one slot.
    const [before] = await readAccounts(rpc, [recordAddress]);
    const { agent: agentAddress } = await recordOf(before);
    const addresses = [recordAddress, disputeAddress, agentAddress, configAddress, CLOCK_ADDRESS];
    const [record, dispute, agent, config, clock] = await readAccounts(rpc, addresses);
    if (!config) throw new Error(words.noMarket);
    return {
        recordAddress,
        disputeAddress,
        record: await recordOf(record),
        dispute: await decode(dispute, disputeAddress, getDisputeDecoder(), DISPUTE_DISCRIMINATOR),
        agent: agent ? decodeOwned(agent, getAgentListedDecoder(), AGENT_LISTED_DISCRIMINATOR) : null,
        config: decodeOwned(config, getConfigDecoder(), CONFIG_DISCRIMINATOR),
        now: unixTimeOf(clock ?? null),
    };
}

export const isOpen = ({ dispute }: Pick<Case, 'dispute'>): boolean => dispute.outcome === Outcome.Open;

const STATUSES: Record<number, Status> = {
    [Outcome.Open]: 'open',
    [Outcome.Upheld]: 'upheld',
    [Outcome.Rejected]: 'rejected',
    [Outcome.Expired]: 'expired',
    [Outcome.Cancelled]: 'cancelled',
    [Outcome.Abusive]: 'abusive',
};

/** `undefined`: a number that this page does not know. */
export const statusOf = ({ dispute }: Pick<Case, 'dispute'>): Status | undefined => STATUSES[dispute.outcome];

/** First second in which it can be upheld. */
export const upholdableFrom = ({ dispute }: Pick<Case, 'dispute'>): number =>
    Number(dispute.answeredAtUnixS === 0n ? dispute.raisedAtUnixS + BigInt(ANSWER_PERIOD_S) : dispute.answeredAtUnixS);

/** Last second that belongs to the resolver alone. */
export const decidableUntil = ({ dispute }: Pick<Case, 'dispute'>): number => Number(dispute.raisedAtUnixS) + LIMIT_S;

/** The URI that is stored in a fixed number of bytes. */
export const uriOf = (bytes: ReadonlyUint8Array, length: number): string =>
    new TextDecoder().decode(new Uint8Array(bytes).slice(0, length));

/** What the caller gets of the collateral if the dispute ends undecided: there is nobody who could decide it. */
export const compensationAtExpiry = ({ config, dispute }: Pick<Case, 'config' | 'dispute'>): bigint =>
    config.resolver === NOBODY ? dispute.coveredAmount : 0n;

export type Powers = {
    readonly canAnswer: boolean;
    readonly canDecide: boolean;
    /** As long as it cannot expire, which gives the caller as much or more. */
    readonly canCancel: boolean;
    readonly canExpire: boolean;
};

/** What the program lets the wallet do at this moment. */
export function powersOf(found: Case, wallet: string): Powers {
    const { agent, dispute, config, now } = found;
    const isRaiser = dispute.raisedBy === wallet;
    const isOver = now > decidableUntil(found);
    return {
        canAnswer: isOpen(found) && agent?.creator === wallet && dispute.answeredAtUnixS === 0n,
        canDecide: isOpen(found) && agent !== null && config.resolver === wallet && !isRaiser,
        canCancel: isOpen(found) && isRaiser && !isOver,
        canExpire: isOpen(found) && isOver,
    };
}

const t = words.refusals;

export class CaseError extends Error {}

const refuse = (why: string): never => {
    throw new CaseError(why);
};

/** The same checks as the program's, made here so that the user gets a reason before evidence is uploaded. */
export function checkAnswer(found: Case, wallet: string): void {
    if (found.agent?.creator !== wallet) refuse(t.notCreator);
    if (!isOpen(found)) refuse(t.notAnswerable(statusOf(found)));
    if (found.dispute.answeredAtUnixS !== 0n) refuse(t.answered);
}

export function checkDecision(found: Case, wallet: string, isUpheld: boolean): void {
    if (found.config.resolver !== wallet) refuse(t.notResolver);
    if (found.dispute.raisedBy === wallet) refuse(t.ownDispute);
    if (!isOpen(found)) refuse(t.already(statusOf(found)));
    if (found.agent === null) refuse(words.noListing);
    if (isUpheld && found.now < upholdableFrom(found)) refuse(t.early);
}

export function checkCancel(found: Case, wallet: string): void {
    if (found.dispute.raisedBy !== wallet) refuse(t.notRaiser);
    if (!isOpen(found)) refuse(t.already(statusOf(found)));
}

export function checkExpiry(found: Case): void {
    if (!isOpen(found)) refuse(t.already(statusOf(found)));
    if (found.now <= decidableUntil(found)) refuse(t.undecided);
}
