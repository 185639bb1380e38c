// Whose turn it is, who can do what, and what the URL asks for.

import { expect, test } from 'vitest';

import { NOBODY } from '../../src/chain/market';
import {
    StoredDisputeOutcome as Outcome,
    StoredExecutionStatus as Status,
    StoredSettler,
} from '../../src/chain/stored';
import {
    ANSWER_PERIOD_S,
    type Case,
    LIMIT_S,
    checkAnswer,
    checkCancel,
    checkDecision,
    checkExpiry,
    compensationAtExpiry,
    powersOf,
} from '../../src/features/disputes/chain/case';
import { type Disputable, disputeObstacle } from '../../src/features/disputes/chain/disputable';
import { readDisputesSearch, readNewDisputeSearch } from '../../src/features/disputes/search';
import { partsOf, turnOf } from '../../src/features/disputes/state';

const RAISED = 1_790_000_000;
const iso = (seconds: number): string => new Date(seconds * 1_000).toISOString();

function caseAt(
    now: number,
    change: { answered?: number; outcome?: number; agent?: null; raisedBy?: string; resolver?: string } = {},
): Case {
    const { answered = 0, outcome = Outcome.Open } = change;
    return {
        dispute: {
            raisedAtUnixS: BigInt(RAISED),
            answeredAtUnixS: BigInt(answered),
            raisedBy: change.raisedBy ?? 'caller',
            coveredAmount: 40n,
            outcome,
        },
        agent: change.agent === null ? null : { creator: 'creator' },
        config: { resolver: change.resolver ?? 'resolver' },
        now,
    } as unknown as Case;
}

test('a dispute can be upheld from the answer on, or when 24 hours are over, and rejected at once', () => {
    const decide = (found: Case, isUpheld: boolean) => () => checkDecision(found, 'resolver', isUpheld);
    const due = RAISED + ANSWER_PERIOD_S;
    expect(decide(caseAt(due - 1), true)).toThrow(/can still answer/);
    expect(decide(caseAt(due), true)).not.toThrow();
    expect(decide(caseAt(RAISED + 5, { answered: RAISED + 5 }), true)).not.toThrow();
    expect(decide(caseAt(RAISED), false)).not.toThrow();
    expect(decide(caseAt(due, { outcome: Outcome.Rejected }), false)).toThrow(/rejected already/);
    expect(() => checkDecision(caseAt(due), 'creator', false)).toThrow(/Only the resolver/);
    expect(decide(caseAt(due, { agent: null }), false)).toThrow(/closed/);
    expect(decide(caseAt(due, { raisedBy: 'resolver' }), false)).toThrow(/You raised this dispute/);
});

test('the creator answers an open dispute once', () => {
    expect(() => checkAnswer(caseAt(RAISED), 'creator')).not.toThrow();
    expect(() => checkAnswer(caseAt(RAISED), 'caller')).toThrow(/Only the creator/);
    expect(() => checkAnswer(caseAt(RAISED, { answered: RAISED + 1 }), 'creator')).toThrow(/only one/);
    expect(() => checkAnswer(caseAt(RAISED, { outcome: Outcome.Expired }), 'creator')).toThrow(/expired/);
});

test('anybody ends a dispute after the last second of the resolver', () => {
    expect(() => checkExpiry(caseAt(RAISED + LIMIT_S))).toThrow(/still has time/);
    expect(() => checkExpiry(caseAt(RAISED + LIMIT_S + 1))).not.toThrow();
});

test('the caller gives up a dispute that is open, answered or not', () => {
    expect(() => checkCancel(caseAt(RAISED), 'caller')).not.toThrow();
    expect(() => checkCancel(caseAt(RAISED, { answered: RAISED + 1 }), 'caller')).not.toThrow();
    expect(() => checkCancel(caseAt(RAISED), 'creator')).toThrow(/Only the caller/);
    expect(() => checkCancel(caseAt(RAISED, { outcome: Outcome.Cancelled }), 'caller')).toThrow(/cancelled already/);
    expect(() => checkCancel(caseAt(RAISED, { outcome: Outcome.Abusive }), 'caller')).toThrow(/abusive already/);
});

test('a dispute that nobody could decide ends with what the collateral covers', () => {
    expect(compensationAtExpiry(caseAt(RAISED))).toBe(0n);
    expect(compensationAtExpiry(caseAt(RAISED, { resolver: NOBODY }))).toBe(40n);
});

test('a page offers what the program takes', () => {
    const powers = (found: Case, wallet: string): string[] =>
        Object.entries(powersOf(found, wallet)).flatMap(([power, has]) => (has ? [power] : []));
    expect(powers(caseAt(RAISED), 'creator')).toEqual(['canAnswer']);
    expect(powers(caseAt(RAISED, { answered: RAISED + 1 }), 'creator')).toEqual([]);
    expect(powers(caseAt(RAISED), 'resolver')).toEqual(['canDecide']);
    expect(powers(caseAt(RAISED), 'caller')).toEqual(['canCancel']);
    expect(powers(caseAt(RAISED + LIMIT_S), 'caller')).toEqual(['canCancel']);
    expect(powers(caseAt(RAISED, { raisedBy: 'resolver' }), 'resolver')).toEqual(['canCancel']);
    expect(powers(caseAt(RAISED + LIMIT_S + 1), 'caller')).toEqual(['canExpire']);
    expect(powers(caseAt(RAISED + LIMIT_S + 1), 'resolver')).toEqual(['canDecide', 'canExpire']);
    expect(
        ['creator', 'resolver', 'caller'].flatMap((wallet) =>
            powers(caseAt(RAISED + LIMIT_S + 1, { outcome: Outcome.Upheld }), wallet),
        ),
    ).toEqual([]);
});

test('the list says whose turn it is', () => {
    const times = { upholdable_from: iso(RAISED + ANSWER_PERIOD_S), expires_at: iso(RAISED + LIMIT_S) };
    const open = { ...times, status: 'open' as const, answered_at: null };
    expect(turnOf(open, RAISED)).toBe('creator');
    expect(turnOf(open, RAISED + ANSWER_PERIOD_S)).toBe('resolver');
    expect(turnOf({ ...open, answered_at: iso(RAISED + 1) }, RAISED + 1)).toBe('resolver');
    expect(turnOf(open, RAISED + LIMIT_S + 1)).toBe('anybody');
    expect(turnOf({ ...open, status: 'upheld' }, RAISED)).toBe('nobody');
});

test('a wallet can have several parts in one dispute', () => {
    const dispute = { caller: 'a', creator: 'b' };
    expect(partsOf(dispute, 'b', 'b')).toEqual(['creator', 'resolver']);
    expect(partsOf(dispute, undefined, 'c')).toEqual([]);
});

const record = {
    status: Status.Completed,
    settledBy: StoredSettler.Gateway,
    disputeCount: 0,
    finishedAtUnixS: BigInt(RAISED),
    disputeWindowS: 100,
};
const disputable = (change: object, now = RAISED, lamports = 10n ** 9n): Disputable =>
    ({
        record: { ...record, ...change },
        isDisputed: false,
        now,
        rent: 1_000n,
        lamports,
        bond: 100_000n,
        usdc: 100_000n,
    }) as unknown as Disputable;

test('only a paid result that the caller did not settle can be disputed, once, in its window', () => {
    const why = (change: object, now?: number, lamports?: bigint): string | null =>
        disputeObstacle(disputable(change, now, lamports));
    expect(why({})).toBeNull();
    expect(why({}, RAISED + 100)).toBeNull();
    expect(why({}, RAISED + 101)).toMatch(/time for a dispute is over/);
    expect(why({ status: Status.Disputed })).toMatch(/already/);
    expect(why({ status: Status.Open })).toMatch(/not finished/);
    expect([Status.Failed, Status.Expired, Status.Overturned].map((status) => why({ status }))).toEqual(
        Array(3).fill(expect.stringMatching(/nothing to dispute/)),
    );
    expect(why({ disputeCount: 1 })).toMatch(/one dispute/);
    expect(why({ settledBy: StoredSettler.Caller })).toMatch(/settled/);
    expect(why({}, RAISED, 5_999n)).toMatch(/too little SOL/);
    expect(why({}, RAISED, 6_000n)).toBeNull();
    expect(disputeObstacle({ ...disputable({}), usdc: 99_999n })).toMatch(
        /bond of 0.10 USDC and your wallet has 0.099999/,
    );
    expect(disputeObstacle({ ...disputable({}), record: null })).toMatch(/no record/);
});

test('what the service would refuse in the URL is left out', () => {
    expect(readDisputesSearch({ role: 'resolver', status: 'open', limit: '5' })).toEqual({
        role: 'resolver',
        status: 'open',
    });
    expect(readDisputesSearch({ role: 'admin', status: '<b>' })).toEqual({});
    expect(readNewDisputeSearch({ execution: '806E1EBA-133b-4100-9a5e-ddbe7c578906' })).toEqual({
        execution: '806e1eba-133b-4100-9a5e-ddbe7c578906',
    });
    expect(readNewDisputeSearch({ execution: '../x' })).toEqual({});
});
