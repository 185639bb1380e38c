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
import { words as w } from './words';

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
                const why = error instanceof Error ? error.message : w.unreadable;
                return { name, title, ok: false, expected: w.something, found: w.notChecked(why) };
            }
        }),
    );
}

const equal = (expected: string, found: string): Finding => ({ ok: expected === found, expected, found });
const statedHash = ({ claims }: Evidence): string => claims.result_hash ?? missing(w.noHash);
const committedHash = (evidence: Evidence): ReadonlyUint8Array => need(evidence.record).resultHash;
const hashText = (hash: ReadonlyUint8Array): string => `sha256:${hexOf(hash)}`;

async function content(evidence: Evidence): Promise<Finding> {
    return equal(statedHash(evidence), await sha256Text(need(evidence.content)));
}

async function result(evidence: Evidence): Promise<Finding> {
    const { result: stated } = evidence.claims;
    if (stated === null) return { ok: true, expected: statedHash(evidence), found: w.noResult };
    return equal(statedHash(evidence), await sha256Text(new TextEncoder().encode(stated)));
}

function address(evidence: Evidence): Finding {
    const { ipfs_url: url } = evidence.claims;
    return equal(cidOf(statedHash(evidence)), url?.replace(/\/+$/, '').split('/').at(-1) ?? w.noAddress);
}

function recordIsThePrograms(evidence: Evidence): Finding {
    need(evidence.record);
    const closed = evidence.closedBy === null ? '' : w.closedBy(evidence.closedBy);
    return {
        ok: true,
        expected: w.recordOf(PROGRAM),
        found: `${evidence.recordAddress}${closed}`,
    };
}

async function identity(evidence: Evidence): Promise<Finding> {
    const record = need(evidence.record);
    const derived = await findExecutionRecordAddress(record.caller, record.executionId);
    const { claims, recordAddress } = evidence;
    return equal(
        w.executionOf(claims.execution_id, claims.agent_id, recordAddress),
        w.executionOf(uuidText(record.executionId), record.agent, derived),
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
    const finding = equal(STATUS_NAMES[number] ?? w.unknownStatus(number), evidence.claims.status);
    return { ...finding, ok: finding.ok && number !== Status.Open };
}

const commitment = (evidence: Evidence): Finding => equal(hashText(committedHash(evidence)), statedHash(evidence));

function settlement(evidence: Evidence): Finding {
    const { transaction, payees } = need(evidence.ending);
    const found = (payees.kind === 'settled' ? w.completedBy : w.refundedBy)(transaction.signature);
    return { ok: true, expected: w.ending, found };
}

/** Where the parts of the Ed25519 instruction begin. */
const [KEY_AT, SIGNATURE_AT, MESSAGE_AT] = [16, 48, 112] as const;

function isBound(evidence: Evidence): boolean {
    const { binding } = need(evidence.record);
    return binding <= 1 ? binding === 1 : missing(w.unknownBinding(binding));
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
    const before = transaction.instructions[at - 1] ?? missing(w.nothingBefore);
    if (before.programId !== ED25519_PROGRAM_ADDRESS) missing(w.otherBefore(before.programId));
    if (before.accounts.length > 0) missing(w.withAccounts);
    const [length, due] = [before.data.length, MESSAGE_AT + signedMessage(demanded(evidence)).length];
    if (length !== due) missing(w.length(length, due));
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
        expected: w.copiedKey,
        found: w.compared(signer),
    };
    if (agreed === null) return byProgram;
    const terms = { ...need(evidence.listing), price: record.amount, binding: isBound(evidence) ? 1 : 0 };
    const market = marketOf(record, need(evidence.config));
    const hash = await termsHash({ ...terms, resultKey: signer }, market);
    const finding = equal(w.terms(hashText(agreed)), w.terms(hashText(hash)));
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
        expected: w.signatureBy(resultKey),
        found: w.verifies(hexOf(bytes), ok),
    };
}

function listing(evidence: Evidence): Finding {
    const [signer, found] = [signingKey(evidence), need(evidence.listing)];
    if (found.resultKey === signer) return equal(found.resultKey, signer);
    // The program copied the key at the opening, and only an update by the creator changes the listing's.
    const ok = found.updatedAtUnixS >= need(evidence.record).openedAtUnixS;
    return {
        ok,
        expected: ok ? w.earlierKey(found.resultKey) : found.resultKey,
        found: signer,
    };
}

/** The parts of the amount, at the fee that the record has fixed at the opening. */
const partsOf = ({ amount, feeBps }: ExecutionRecord): Split => splitOf(amount, feeBps);

function split(evidence: Evidence): Finding {
    const record = need(evidence.record);
    const { creator, platform } = partsOf(record);
    const found = w.parts(formatUsdc(record.amount), formatUsdc(creator), formatUsdc(platform), record.feeBps);
    return {
        ok: record.feeBps <= MAX_FEE_BPS,
        expected: w.twoParts(MAX_FEE_BPS),
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
        return { ok: false, expected: w.accountOf(owner[1]), found: w.accountOf(change.owner) };
    }
    return equal(w.usdc(expected), w.usdc(found));
}

const escrowOut = async (record: ExecutionRecord): Promise<Movement> => [
    w.escrow,
    await findEscrowAddress(record.agent),
    -record.amount,
];

async function payment(evidence: Evidence): Promise<Finding> {
    const [{ payees, transaction }, record] = [need(evidence.ending), need(evidence.record)];
    if (payees.kind !== 'settled')
        return { ok: false, expected: w.toCreator, found: w.refundedBy(transaction.signature) };
    const { creator, platform } = partsOf(record);
    const isOne = payees.creator === payees.treasury;
    const due: Movement[] = [
        await escrowOut(record),
        [w.creator, payees.creator, isOne ? creator + platform : creator],
        ...(isOne ? [] : [[w.treasury, payees.treasury, platform] as const]),
    ];
    return movements(evidence, due, [payees.creator, need(evidence.listing).creator]);
}

async function refund(evidence: Evidence): Promise<Finding> {
    const [{ payees, transaction }, record] = [need(evidence.ending), need(evidence.record)];
    if (payees.kind !== 'refunded') return { ok: false, expected: w.toCaller, found: w.paidBy(transaction.signature) };
    return movements(
        evidence,
        [await escrowOut(record), [w.caller, payees.caller, record.amount]],
        [payees.caller, record.caller],
    );
}

/** What the execution cost in the end: after an upheld dispute less than what was paid. */
function costOf(evidence: Evidence): bigint {
    const record = need(evidence.record);
    if (record.status !== Status.Overturned) return record.amount;
    return record.amount - need(evidence.dispute ?? missing(w.noDispute)).compensation;
}

function amounts(evidence: Evidence): Finding {
    const [record, { claims }] = [need(evidence.record), evidence];
    const { creator, platform } = partsOf(record);
    const tokens = record.tokensReported === 1 ? record.tokensUsed : null;
    const text = (cost: bigint, toCreator: bigint, fee: bigint, ms: number | null, used: number | null): string =>
        w.amounts(formatUsdc(cost), formatUsdc(toCreator), formatUsdc(fee), ms ?? record.executionTimeMs) +
        (used === null ? '' : w.tokens(used));
    return equal(
        text(costOf(evidence), creator, platform, record.executionTimeMs, tokens),
        text(
            claims.cost_usdc,
            claims.creator_amount_usdc,
            claims.platform_amount_usdc,
            claims.execution_time_ms,
            claims.tokens_used ?? tokens,
        ),
    );
}

const REASONS: Record<number, string> = {
    [Reason.CreatorFailed]: w.reasons.creatorFailed,
    [Reason.Timeout]: w.reasons.timeout,
    [Reason.InvalidResponse]: w.reasons.invalid,
    [Reason.Expired]: w.reasons.expired,
    [Reason.Interrupted]: w.reasons.interrupted,
};

function refundStatus(evidence: Evidence): Finding {
    const { failureReason } = need(evidence.record);
    const reason = REASONS[failureReason];
    if (reason === undefined) return { ok: false, expected: w.refundReason, found: w.unknownReason(failureReason) };
    return equal(w.failed('failed', reason), w.failed(evidence.claims.status, reason));
}

function nothingPaid({ claims }: Evidence): Finding {
    const stated = [claims.cost_usdc, claims.creator_amount_usdc, claims.platform_amount_usdc]
        .map(formatUsdc)
        .join(', ');
    const hasResult = claims.result !== null || claims.result_hash !== null;
    return equal(w.nothingPaid, w.paid(stated, hasResult));
}

/** In the order of a reader's questions. */
const RESULT: readonly (readonly [name: string, title: string, checker: Checker])[] = [
    ['content', w.result.content, content],
    ['result', w.result.result, result],
    ['address', w.result.address, address],
    ['record', w.result.record, recordIsThePrograms],
    ['identity', w.result.identity, identity],
    ['status', w.result.status, status],
    ['commitment', w.result.commitment, commitment],
    ['settlement', w.result.settlement, settlement],
    ['gate', w.result.gate, gate],
    ['message', w.result.message, message],
    ['key', w.result.key, key],
    ['signature', w.result.signature, signatureVerifies],
    ['listing', w.result.listing, listing],
    ['split', w.result.split, split],
    ['payment', w.result.payment, payment],
    ['amounts', w.result.amounts, amounts],
];

const REFUND: readonly (readonly [name: string, title: string, checker: Checker])[] = [
    ['record', w.refund.record, recordIsThePrograms],
    ['identity', w.refund.identity, identity],
    ['status', w.refund.status, refundStatus],
    ['settlement', w.refund.settlement, settlement],
    ['payment', w.refund.payment, refund],
    ['amounts', w.refund.amounts, nothingPaid],
];
