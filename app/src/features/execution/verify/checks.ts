// The checks of an execution. They are independent: no check uses the result of another. Sixteen for an execution with
// a result, six for a refund; the same as those of `crtx verify` (sdk/rust/src/verify/checks.rs).

import {
    type Address,
    type ReadonlyUint8Array,
    getAddressDecoder,
    getAddressEncoder,
    getI64Decoder,
} from '@solana/kit';

import { hexOf, sameBytes } from '../../../chain/accounts';
import { findEscrowAddress, findExecutionRecordAddress } from '../../../chain/addresses';
import type { PlainInstruction } from '../../../chain/history';
import {
    ED25519_PROGRAM_ADDRESS,
    type SignedResult,
    getResultProofInstruction,
    signedMessage,
} from '../../../chain/proof';
import { uuidText } from '../../../chain/record';
import { StoredExecutionStatus as Status, StoredFailureReason as Reason } from '../../../chain/stored';
import { movedBy } from '../../../chain/story';
import { type MarketTerms, termsHash } from '../../../chain/terms';
import type { Config } from '../../../generated/accounts/config';
import type { ExecutionRecord } from '../../../generated/accounts/executionRecord';
import { AGENT_MARKETPLACE_PROGRAM_ADDRESS as PROGRAM } from '../../../generated/programs';
import { cidOf } from '../../../shared/content';
import { MAX_FEE_BPS, type Split, splitOf } from '../../../shared/fee';
import { formatUsdc } from '../../../shared/money';
import { verifyStrictly } from './ed25519';
import { type Evidence, missing, need, sha256Text } from './evidence';

/** `expected` and `found` stand next to each other; `ok` says whether they fit. */
export type Finding = { readonly ok: boolean; readonly expected: string; readonly found: string };
export type Check = Finding & { readonly name: string; readonly title: string };
type Checker = (evidence: Evidence) => Finding | Promise<Finding>;

/** Whether the record says that the caller has the money back. */
export function isRefund({ record }: Evidence): boolean {
    const status = 'value' in record ? record.value.status : 0;
    return status === Status.Failed || status === Status.Expired;
}

export async function runChecks(evidence: Evidence): Promise<Check[]> {
    const checks = isRefund(evidence) ? REFUND : RESULT;
    return Promise.all(
        checks.map(async ([name, title, checker]) => {
            try {
                return { name, title, ...(await checker(evidence)) };
            } catch (error) {
                const why = error instanceof Error ? error.message : 'it cannot be read';
                return { name, title, ok: false, expected: 'Something to check', found: `Not checked: ${why}` };
            }
        }),
    );
}

const equal = (expected: string, found: string): Finding => ({ ok: expected === found, expected, found });
const statedHash = ({ claims }: Evidence): string => claims.result_hash ?? missing('no result hash is stated');
const committedHash = (evidence: Evidence): ReadonlyUint8Array => need(evidence.record).resultHash;
const hashText = (hash: ReadonlyUint8Array): string => `sha256:${hexOf(hash)}`;

async function content(evidence: Evidence): Promise<Finding> {
    return equal(statedHash(evidence), await sha256Text(need(evidence.content)));
}

async function result(evidence: Evidence): Promise<Finding> {
    const { result: stated } = evidence.claims;
    if (stated === null) return { ok: true, expected: statedHash(evidence), found: 'None is stated' };
    return equal(statedHash(evidence), await sha256Text(new TextEncoder().encode(stated)));
}

function address(evidence: Evidence): Finding {
    const { ipfs_url: url } = evidence.claims;
    return equal(
        cidOf(statedHash(evidence)),
        url?.replace(/\/+$/, '').split('/').at(-1) ?? 'no content address is stated',
    );
}

function recordIsThePrograms(evidence: Evidence): Finding {
    need(evidence.record);
    const closed = evidence.closedBy === null ? '' : `, read from the event of ${evidence.closedBy}, which closed it`;
    return {
        ok: true,
        expected: `An execution record of program ${PROGRAM}`,
        found: `${evidence.recordAddress}${closed}`,
    };
}

async function identity(evidence: Evidence): Promise<Finding> {
    const record = need(evidence.record);
    const derived = await findExecutionRecordAddress(record.caller, record.executionId);
    const { claims, recordAddress } = evidence;
    return equal(
        `Execution ${claims.execution_id} of agent ${claims.agent_id} at ${recordAddress}`,
        `Execution ${uuidText(record.executionId)} of agent ${record.agent} at ${derived}`,
    );
}

const STATUS_NAMES: Record<number, string> = {
    [Status.Open]: 'open',
    [Status.Completed]: 'completed',
    [Status.Failed]: 'failed',
    [Status.Expired]: 'failed',
    [Status.Disputed]: 'disputed',
    [Status.Overturned]: 'failed',
};

function status(evidence: Evidence): Finding {
    const { status: number } = need(evidence.record);
    const finding = equal(STATUS_NAMES[number] ?? `unknown status ${number}`, evidence.claims.status);
    return { ...finding, ok: finding.ok && number !== Status.Open };
}

const commitment = (evidence: Evidence): Finding => equal(hashText(committedHash(evidence)), statedHash(evidence));

function settlement(evidence: Evidence): Finding {
    const { transaction, payees } = need(evidence.ending);
    const found = `${payees.kind === 'settled' ? 'Completed' : 'Refunded'} by ${transaction.signature}`;
    return { ok: true, expected: 'A transaction that ended the execution', found };
}

/** Where the parts of the Ed25519 instruction begin. */
const [KEY_AT, SIGNATURE_AT, MESSAGE_AT] = [16, 48, 112] as const;

function isBound(evidence: Evidence): boolean {
    const { binding } = need(evidence.record);
    return binding <= 1 ? binding === 1 : missing(`the record has the unknown binding ${binding}`);
}

/** What the record demands a signature over: the result alone, or the result of this call. */
function demanded(evidence: Evidence): SignedResult {
    const { openedAtUnixS } = need(evidence.record);
    const opening = isBound(evidence) ? { record: evidence.recordAddress, openedAtUnixS } : undefined;
    return { resultHash: committedHash(evidence), opening };
}

/** The instruction directly before the completion. */
function proof(evidence: Evidence): PlainInstruction {
    const { transaction, at } = need(evidence.ending);
    const before = transaction.instructions[at - 1] ?? missing('no instruction is before the completion');
    if (before.programId !== ED25519_PROGRAM_ADDRESS)
        missing(`the instruction before the completion is of ${before.programId}`);
    if (before.accounts.length > 0) missing('the Ed25519 instruction names accounts');
    const [length, due] = [before.data.length, MESSAGE_AT + signedMessage(demanded(evidence)).length];
    if (length !== due) missing(`the Ed25519 instruction has ${length} bytes of data instead of ${due}`);
    return before;
}

/** The key that signed. The program compared it with the record's key before it removed that key from the record. */
const signingKey = (evidence: Evidence): Address => getAddressDecoder().decode(proof(evidence).data, KEY_AT);
const signature = (evidence: Evidence): ReadonlyUint8Array => proof(evidence).data.slice(SIGNATURE_AT, MESSAGE_AT);

function gate(evidence: Evidence): Finding {
    const own = { ...demanded(evidence), resultKey: signingKey(evidence), signature: signature(evidence) };
    return equal(
        hexOf(getResultProofInstruction(own).data.slice(0, KEY_AT)),
        hexOf(proof(evidence).data.slice(0, KEY_AT)),
    );
}

function message(evidence: Evidence): Finding {
    return equal(
        readable(signedMessage(demanded(evidence)), evidence),
        readable(proof(evidence).data.slice(MESSAGE_AT), evidence),
    );
}

/** A signed message, with the opening of a record in words. */
function readable(bytes: ReadonlyUint8Array, { recordAddress }: Evidence): string {
    const text = (part: ReadonlyUint8Array): string => new TextDecoder().decode(new Uint8Array(part));
    const record = getAddressEncoder().encode(recordAddress);
    const isThisRecord = bytes.length === 126 && sameBytes(bytes.slice(13, 45), record);
    if (!isThisRecord) return text(bytes);
    const second = getI64Decoder().decode(bytes, 46);
    return `${text(bytes.slice(0, 13))}${recordAddress}:${second}${text(bytes.slice(54))}`;
}

/** The opening names the terms that the caller agreed to by their hash, and the key is one of them. */
async function key(evidence: Evidence): Promise<Finding> {
    const [signer, record] = [signingKey(evidence), need(evidence.record)];
    const { termsHash: agreed } = need(evidence.opening);
    const byProgram = {
        ok: true,
        expected: 'The key that the program copied at the opening',
        found: `${signer}, compared by the program`,
    };
    if (agreed === null) return byProgram;
    const terms = { ...need(evidence.listing), price: record.amount, binding: isBound(evidence) ? 1 : 0 };
    const market = marketOf(record, need(evidence.config));
    const hash = await termsHash({ ...terms, resultKey: signer }, market);
    const finding = equal(`Terms ${hashText(agreed)}`, `Terms ${hashText(hash)}`);
    if (finding.ok) return finding;
    // With the key that the listing registers they would be the agreed ones, so another key signed. If the terms have
    // changed since, the program's comparison at the completion stands for the check.
    return sameBytes(await termsHash(terms, market), agreed) ? finding : byProgram;
}

/** The market's terms as the record has them. The grace alone is not in it any more, so it is the one of today. */
const marketOf = ({ feeBps, maxPenaltyMultiple, disputeWindowS }: ExecutionRecord, config: Config): MarketTerms => ({
    feeBps,
    maxPenaltyMultiple,
    disputeWindowS: BigInt(disputeWindowS),
    settleGraceS: config.parameters.settleGraceS,
});

async function signatureVerifies(evidence: Evidence): Promise<Finding> {
    const [resultKey, bytes] = [signingKey(evidence), signature(evidence)];
    const ok = await verifyStrictly({ ...demanded(evidence), resultKey, signature: bytes });
    return {
        ok,
        expected: `A signature by ${resultKey}`,
        found: `${hexOf(bytes)} ${ok ? 'verifies' : 'does not verify'}`,
    };
}

function listing(evidence: Evidence): Finding {
    const [signer, found] = [signingKey(evidence), need(evidence.listing)];
    if (found.resultKey === signer) return equal(found.resultKey, signer);
    // The program copied the key at the opening, and only an update by the creator changes the listing's.
    const ok = found.updatedAtUnixS >= need(evidence.record).openedAtUnixS;
    return {
        ok,
        expected: ok ? `${found.resultKey}, or the key before the update since` : found.resultKey,
        found: signer,
    };
}

/** The parts of the amount, at the fee that the record has fixed at the opening. */
const partsOf = ({ amount, feeBps }: ExecutionRecord): Split => splitOf(amount, feeBps);

function split(evidence: Evidence): Finding {
    const record = need(evidence.record);
    const { creator, platform } = partsOf(record);
    const found = `${formatUsdc(record.amount)} = ${formatUsdc(creator)} + ${formatUsdc(platform)} USDC, a fee of ${record.feeBps} basis points`;
    return {
        ok: record.feeBps <= MAX_FEE_BPS,
        expected: `Two parts, with a fee of at most ${MAX_FEE_BPS} basis points`,
        found,
    };
}

type Movement = readonly [who: string, account: Address, amount: bigint];

/** Compares what should have moved by the ending instruction with what did. */
function movements(
    evidence: Evidence,
    due: readonly Movement[],
    owner: readonly [account: Address, owner: Address],
): Finding {
    const { usdcMint } = need(evidence.config);
    const ending = need(evidence.ending);
    const { changes } = ending.transaction;
    const moved = movedBy(ending, usdcMint);
    const changeOf = (account: Address) =>
        changes.find((change) => change.account === account && change.mint === usdcMint);
    const line = (who: string, amount: bigint): string => `${who} ${amount > 0n ? '+' : ''}${formatUsdc(amount)}`;
    const expected = due.map(([who, , amount]) => line(who, amount)).join(', ');
    const found = due.map(([who, account]) => line(who, moved.get(account) ?? 0n)).join(', ');
    const change = changeOf(owner[0]);
    if (change !== undefined && change.owner !== owner[1]) {
        return { ok: false, expected: `An account of ${owner[1]}`, found: `An account of ${change.owner}` };
    }
    return equal(`${expected} USDC`, `${found} USDC`);
}

const escrowOut = async (record: ExecutionRecord): Promise<Movement> => [
    'Escrow',
    await findEscrowAddress(record.agent),
    -record.amount,
];

async function payment(evidence: Evidence): Promise<Finding> {
    const [{ payees, transaction }, record] = [need(evidence.ending), need(evidence.record)];
    if (payees.kind !== 'settled')
        return { ok: false, expected: 'Paid to the creator', found: `Refunded by ${transaction.signature}` };
    const { creator, platform } = partsOf(record);
    const isOne = payees.creator === payees.treasury;
    const due: Movement[] = [
        await escrowOut(record),
        ['creator', payees.creator, isOne ? creator + platform : creator],
        ...(isOne ? [] : [['treasury', payees.treasury, platform] as const]),
    ];
    return movements(evidence, due, [payees.creator, need(evidence.listing).creator]);
}

async function refund(evidence: Evidence): Promise<Finding> {
    const [{ payees, transaction }, record] = [need(evidence.ending), need(evidence.record)];
    if (payees.kind !== 'refunded')
        return { ok: false, expected: 'Back to the caller', found: `Paid to the creator by ${transaction.signature}` };
    return movements(
        evidence,
        [await escrowOut(record), ['caller', payees.caller, record.amount]],
        [payees.caller, record.caller],
    );
}

/** What the execution cost in the end: after an upheld dispute less than what was paid. */
function costOf(evidence: Evidence): bigint {
    const record = need(evidence.record);
    if (record.status !== Status.Overturned) return record.amount;
    return record.amount - need(evidence.dispute ?? missing('there is no dispute')).compensation;
}

function amounts(evidence: Evidence): Finding {
    const [record, { claims }] = [need(evidence.record), evidence];
    const { creator, platform } = partsOf(record);
    const tokens = record.tokensReported === 1 ? record.tokensUsed : null;
    const words = (cost: bigint, toCreator: bigint, fee: bigint, ms: number | null, used: number | null): string =>
        `Cost ${formatUsdc(cost)}, creator ${formatUsdc(toCreator)}, fee ${formatUsdc(fee)} USDC, ${ms ?? record.executionTimeMs} ms` +
        (used === null ? '' : `, ${used} tokens`);
    return equal(
        words(costOf(evidence), creator, platform, record.executionTimeMs, tokens),
        words(
            claims.cost_usdc,
            claims.creator_amount_usdc,
            claims.platform_amount_usdc,
            claims.execution_time_ms,
            claims.tokens_used ?? tokens,
        ),
    );
}

const REASONS: Record<number, string> = {
    [Reason.CreatorFailed]: 'the creator reported a failure',
    [Reason.Timeout]: 'no answer within the time-out',
    [Reason.InvalidResponse]: "the creator's answer broke the contract",
    [Reason.Expired]: 'no result before the deadline',
    [Reason.Interrupted]: 'the gateway gave the execution up',
};

function refundStatus(evidence: Evidence): Finding {
    const { failureReason } = need(evidence.record);
    const reason = REASONS[failureReason];
    if (reason === undefined)
        return { ok: false, expected: 'A reason of the refund', found: `Unknown reason ${failureReason}` };
    return equal(`failed: ${reason}`, `${evidence.claims.status}: ${reason}`);
}

function nothingPaid({ claims }: Evidence): Finding {
    const stated = [claims.cost_usdc, claims.creator_amount_usdc, claims.platform_amount_usdc]
        .map(formatUsdc)
        .join(', ');
    const hasResult = claims.result !== null || claims.result_hash !== null;
    return equal('0, 0, 0 USDC and no result', `${stated} USDC and ${hasResult ? 'a' : 'no'} result`);
}

/** In the order of a reader's questions. */
const RESULT: readonly (readonly [name: string, title: string, checker: Checker])[] = [
    ['content', 'The stored content has the stated hash', content],
    ['result', 'The result on this page has the stated hash', result],
    ['address', 'The content address follows from the hash', address],
    ['record', 'The record belongs to the program', recordIsThePrograms],
    ['identity', 'The record is of this execution', identity],
    ['status', 'The chain has the stated status', status],
    ['commitment', 'The record commits to the hash', commitment],
    ['settlement', 'A transaction settled it', settlement],
    ['gate', 'The proof has the one accepted form', gate],
    ['message', 'What was signed is this result', message],
    ['key', 'It was signed with the agreed key', key],
    ['signature', 'The Ed25519 signature verifies', signatureVerifies],
    ['listing', 'The listing registers the key', listing],
    ['split', 'The parts make the whole', split],
    ['payment', 'The money moved as recorded', payment],
    ['amounts', 'The stated amounts are those of the chain', amounts],
];

const REFUND: readonly (readonly [name: string, title: string, checker: Checker])[] = [
    ['record', 'The record belongs to the program', recordIsThePrograms],
    ['identity', 'The record is of this execution', identity],
    ['status', 'The chain says that it was refunded', refundStatus],
    ['settlement', 'A transaction refunded it', settlement],
    ['payment', 'All of the money went back', refund],
    ['amounts', 'Nothing is stated as paid', nothingPaid],
];
