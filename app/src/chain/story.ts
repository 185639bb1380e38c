// How an execution was opened, ended and closed, read from the transactions about its record.

import { type Address, type ReadonlyUint8Array, getU64Decoder, unwrapOption } from '@solana/kit';

import {
    COMPLETE_EXECUTION_DISCRIMINATOR,
    getCompleteExecutionInstructionDataDecoder,
} from '../generated/instructions/completeExecution';
import { FAIL_EXECUTION_DISCRIMINATOR } from '../generated/instructions/failExecution';
import {
    OPEN_EXECUTION_DISCRIMINATOR,
    type OpenExecutionInstructionData,
    getOpenExecutionInstructionDataDecoder,
} from '../generated/instructions/openExecution';
import {
    OPEN_EXECUTION_WITH_GRANT_DISCRIMINATOR,
    getOpenExecutionWithGrantInstructionDataDecoder,
} from '../generated/instructions/openExecutionWithGrant';
import { REFUND_EXPIRED_EXECUTION_DISCRIMINATOR } from '../generated/instructions/refundExpiredExecution';
import { AGENT_MARKETPLACE_PROGRAM_ADDRESS as PROGRAM } from '../generated/programs';
import { getAgentClosedDecoder } from '../generated/types/agentClosed';
import { getExecutionClosedDecoder } from '../generated/types/executionClosed';
import { startsWith } from './accounts';
import { findDisputeAddress } from './addresses';
import type { History, PlainInstruction, PlainTransaction } from './history';
import { TOKEN_PROGRAM } from './token';

/** The token program's number of that instruction. */
const TRANSFER_CHECKED = 12;

export type Opening = {
    readonly transaction: PlainTransaction;
    /** The 16 bytes of the execution's UUID, and the listing, as the instruction names them. */
    readonly executionId: ReadonlyUint8Array;
    readonly agent: Address;
    readonly requestHash: ReadonlyUint8Array;
    readonly termsHash: ReadonlyUint8Array | null;
};

/** The token accounts that got the money, as the instruction names them. */
export type Payees =
    | { readonly kind: 'settled'; readonly creator: Address; readonly treasury: Address }
    | { readonly kind: 'refunded'; readonly caller: Address };

export type Ending = {
    readonly transaction: PlainTransaction;
    /** Which instruction it was. */ readonly at: number;
    readonly payees: Payees;
    /** What the instruction states of the result; `null` for a refund. */
    readonly completion: Completion | null;
};

export type Completion = { readonly resultHash: ReadonlyUint8Array; readonly tokensUsed: bigint | null };

/** The transaction that opened the record, next to one of `times`, in seconds since 1970. */
export async function findOpening(history: History, times: readonly number[] = []): Promise<Opening> {
    const found = await history.first((transaction) => {
        const all = [...transaction.instructions, ...transaction.inner];
        const opened = all
            .filter(isOurs)
            .map((instruction) => openedBy(instruction, history.address))
            .find((args) => args !== null);
        return opened ? { transaction, ...opened } : null;
    }, times);
    if (typeof found === 'number')
        throw new Error(`the RPC node has no successful transaction that opens this execution (of ${found})`);
    return found;
}

/** The transaction that completes, fails or refunds the record, next to one of `times`, in seconds since 1970. */
export async function findEnding(history: History, times: readonly number[] = []): Promise<Ending> {
    const found = await history.first((transaction) => {
        for (const [at, instruction] of transaction.instructions.entries()) {
            const payees = isOurs(instruction) ? payeesOf(instruction, history.address) : null;
            if (payees !== null) return { transaction, at, payees, completion: completionOf(instruction) };
        }
        return null;
    }, times);
    if (typeof found === 'number')
        throw new Error(`the RPC node has no successful transaction that ends this execution (of ${found})`);
    return found;
}

/**
 * What the instruction that ended a record moved of a token, by account: a transaction can end several records. A node that
 * keeps no inner instructions shows only what the whole transaction moved.
 */
export function movedBy({ transaction, at }: Ending, mint: Address): ReadonlyMap<Address, bigint> {
    const called = transaction.inner.filter(({ by }) => by === at);
    const changes =
        called.length === 0
            ? transaction.changes.filter((change) => change.mint === mint)
            : called.flatMap((instruction) => transferred(instruction, mint));
    const moved = new Map<Address, bigint>();
    for (const { account, change } of changes) moved.set(account, (moved.get(account) ?? 0n) + change);
    return moved;
}

/** The changes that a checked transfer of this token makes. */
function transferred({ programId, accounts, data }: PlainInstruction, mint: Address) {
    const [from, of, to] = accounts;
    const isTransfer = programId === TOKEN_PROGRAM && data[0] === TRANSFER_CHECKED && data.length === 10;
    if (!isTransfer || from === undefined || to === undefined || of !== mint) return [];
    const amount = getU64Decoder().decode(data, 1);
    return [
        { account: from, change: -amount },
        { account: to, change: amount },
    ];
}

const isOurs = ({ programId }: PlainInstruction): boolean => programId === PROGRAM;

/** The indices are those of the program's account lists. */
function openedBy({ accounts, data }: PlainInstruction, record: Address): Omit<Opening, 'transaction'> | null {
    const opening = (agent: Address | undefined, args: OpeningArgs) =>
        agent === undefined
            ? null
            : {
                  agent,
                  executionId: args.executionId,
                  requestHash: args.requestHash,
                  termsHash: unwrapOption(args.termsHash),
              };
    if (accounts[4] === record && startsWith(data, OPEN_EXECUTION_DISCRIMINATOR)) {
        return opening(accounts[3], getOpenExecutionInstructionDataDecoder().decode(data));
    }
    if (accounts[7] === record && startsWith(data, OPEN_EXECUTION_WITH_GRANT_DISCRIMINATOR)) {
        return opening(accounts[6], getOpenExecutionWithGrantInstructionDataDecoder().decode(data));
    }
    return null;
}

type OpeningArgs = Pick<OpenExecutionInstructionData, 'executionId' | 'requestHash' | 'termsHash'>;

function completionOf({ data }: PlainInstruction): Completion | null {
    if (!startsWith(data, COMPLETE_EXECUTION_DISCRIMINATOR)) return null;
    const { resultHash, tokensUsed } = getCompleteExecutionInstructionDataDecoder().decode(data);
    return { resultHash, tokensUsed: unwrapOption(tokensUsed) };
}

/** The payees of the instruction, if it ends the execution of `record`. */
function payeesOf({ accounts, data }: PlainInstruction, record: Address): Payees | null {
    const [, second, , fourth, fifth, , seventh, eighth] = accounts;
    if (
        fourth === record &&
        startsWith(data, COMPLETE_EXECUTION_DISCRIMINATOR) &&
        seventh !== undefined &&
        eighth !== undefined
    ) {
        return { kind: 'settled', creator: seventh, treasury: eighth };
    }
    if (fourth === record && startsWith(data, FAIL_EXECUTION_DISCRIMINATOR) && seventh !== undefined) {
        return { kind: 'refunded', caller: seventh };
    }
    if (second === record && startsWith(data, REFUND_EXPIRED_EXECUTION_DISCRIMINATOR) && fifth !== undefined) {
        return { kind: 'refunded', caller: fifth };
    }
    return null;
}

export type Closed = { readonly bytes: ReadonlyUint8Array; readonly by: string };

/** First bytes of the data with which the program calls itself to emit an event. */
const EVENT = new Uint8Array([0xe4, 0x45, 0xa5, 0x2e, 0x51, 0xcb, 0x9a, 0x1d]);
const eventStart = (name: string): Promise<Uint8Array> =>
    crypto.subtle
        .digest('SHA-256', new TextEncoder().encode(`event:${name}`))
        .then((hash) => new Uint8Array(hash).slice(0, 8));

/**
 * The last bytes of a closed record, dispute or listing. Only the program itself can call its event instruction: the
 * call is signed by an address of its own.
 */
export async function findClosed(history: History, record: Address): Promise<Closed | null> {
    const [executionClosed, agentClosed] = await Promise.all([
        eventStart('ExecutionClosed'),
        eventStart('AgentClosed'),
    ]);
    const dispute = await findDisputeAddress(record);
    const { address } = history;
    const bytesIn = ({ data }: PlainInstruction): ReadonlyUint8Array | null => {
        const event = data.slice(EVENT.length);
        if (startsWith(event, executionClosed)) {
            const closed = getExecutionClosedDecoder().decode(event.slice(8));
            if (closed.record === address) return closed.recordData;
            return closed.record === record && address === dispute ? unwrapOption(closed.disputeData) : null;
        }
        if (!startsWith(event, agentClosed)) return null;
        const closed = getAgentClosedDecoder().decode(event.slice(8));
        return closed.agent === address ? closed.agentData : null;
    };
    const found = await history.first((transaction) => {
        const events = transaction.inner.filter((inner) => isOurs(inner) && startsWith(inner.data, EVENT));
        const bytes = events.map(bytesIn).find((data) => data !== null);
        return bytes ? { bytes, by: transaction.signature } : null;
    });
    return typeof found === 'number' ? null : found;
}
