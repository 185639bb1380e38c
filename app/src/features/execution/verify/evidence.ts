// Collects what the checks need: the content by its hash, and accounts and transactions from an RPC node. From the
// service it takes only the statements about the execution, which are what is checked. A closed account is read from
// the event of the transaction that closed it. The same as `crtx verify`.

import { type Address, type Decoder, type ReadonlyUint8Array, createSolanaRpc } from '@solana/kit';

import { decodeBytes, decodeOwned, hexOf, readAccounts } from '../../../chain/accounts';
import { findConfigAddress, findDisputeAddress } from '../../../chain/addresses';
import { History } from '../../../chain/history';
import { type Ending, type Opening, findClosed, findEnding, findOpening } from '../../../chain/story';
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
import type { Schemas } from '../../../shared/api/client';
import { readContent } from '../../../shared/content';
import { recordAddressOf } from '../recordLink';
import { words } from './words';

/** What the service states. Nothing in it is believed. */
export type Claims = Pick<
    Schemas['ExecutionResponse'],
    | 'execution_id'
    | 'agent_id'
    | 'status'
    | 'result'
    | 'result_hash'
    | 'cost_usdc'
    | 'creator_amount_usdc'
    | 'platform_amount_usdc'
    | 'tokens_used'
    | 'execution_time_ms'
    | 'ipfs_url'
    | 'on_chain_record'
>;

/** What was found, or the reason why it was not. */
export type Found<T> = { readonly value: T } | { readonly missing: string };

export type Evidence = {
    readonly claims: Claims;
    readonly recordAddress: Address;
    readonly content: Found<Uint8Array>;
    readonly record: Found<ExecutionRecord>;
    /** The transaction that closed the record, if it is closed. */
    readonly closedBy: string | null;
    readonly listing: Found<AgentListed>;
    /** `null` if the execution was never disputed. */
    readonly dispute: Found<Dispute> | null;
    readonly config: Found<Config>;
    readonly opening: Found<Opening>;
    readonly ending: Found<Ending>;
};

/** What accounts and transactions say. */
export type ChainEvidence = Omit<Evidence, 'claims' | 'content'>;

export async function collect(claims: Claims, rpcUrl: string): Promise<Evidence> {
    const [chain, content] = await Promise.all([
        readChain(recordAddressOf(claims), rpcUrl),
        tried(statedContent(claims)),
    ]);
    return { claims, content, ...chain };
}

export async function readChain(recordAddress: Address, rpcUrl: string): Promise<ChainEvidence> {
    const rpc = createSolanaRpc(rpcUrl);
    const history = new History(rpc, recordAddress);
    // Without a node every check would fail for the same reason.
    await rpc.getSlot({ commitment: 'confirmed' }).send();
    const account = async <T>(
        address: Address,
        decoder: Decoder<T>,
        kind: ReadonlyUint8Array,
    ): Promise<[T, string | null]> => {
        const [found] = await readAccounts(rpc, [address]);
        if (found) return [decodeOwned(found, decoder, kind), null];
        const closed = await findClosed(address === recordAddress ? history : new History(rpc, address), recordAddress);
        if (closed === null) throw new Error(words.notOnChain(address));
        return [decodeBytes(closed.bytes, decoder, kind), closed.by];
    };
    const record = await tried(account(recordAddress, getExecutionRecordDecoder(), EXECUTION_RECORD_DISCRIMINATOR));
    const known = 'value' in record ? record.value[0] : null;
    const listing = async (): Promise<[AgentListed, string | null]> => {
        if (known === null) throw new Error(words.noRecord);
        return account(known.agent, getAgentListedDecoder(), AGENT_LISTED_DISCRIMINATOR);
    };
    const dispute = async () =>
        account(await findDisputeAddress(recordAddress), getDisputeDecoder(), DISPUTE_DISCRIMINATOR);
    const config = async () => account(await findConfigAddress(), getConfigDecoder(), CONFIG_DISCRIMINATOR);
    return {
        recordAddress,
        record: first(record),
        closedBy: 'value' in record ? record.value[1] : null,
        listing: first(await tried(listing())),
        dispute: known === null || known.disputeCount === 0 ? null : first(await tried(dispute())),
        config: first(await tried(config())),
        opening: await tried(findOpening(history, known === null ? [] : [Number(known.openedAtUnixS)])),
        ending: await tried(findEnding(history, known === null ? [] : [Number(known.finishedAtUnixS)])),
    };
}

/** Asks for the bytes at the stated address again each time, and only as bytes. */
async function statedContent({ ipfs_url: url }: Claims): Promise<Uint8Array> {
    if (url === null) throw new Error(words.noContent);
    // Content is served under the origin of this page; the name of the host is the service's own statement.
    return readContent(new URL(url).pathname);
}

/** What was found. Throws the reason where it was not, and the check that needs it says so. */
export function need<T>(found: Found<T>): T {
    return 'missing' in found ? missing(found.missing) : found.value;
}

export function missing(why: string): never {
    throw new Error(why);
}

export async function tried<T>(work: Promise<T>): Promise<Found<T>> {
    try {
        return { value: await work };
    } catch (error) {
        return { missing: error instanceof Error ? error.message : words.unreadable };
    }
}

const first = <T>(found: Found<[T, string | null]>): Found<T> => ('value' in found ? { value: found.value[0] } : found);

export async function sha256Text(bytes: Uint8Array): Promise<string> {
    return `sha256:${hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes))))}`;
}
