// The groups of a proof page: an honest execution holds in all four, and whatever is altered fails the group that it
// belongs to. No service states anything here.

import { describe, expect, it } from 'vitest';

import { StoredDisputeOutcome as Outcome, StoredExecutionStatus as Status } from '../../src/chain/stored';
import type { Found } from '../../src/features/execution';
import { reportOf } from '../../src/features/proof/report';
import { TEXT, good, key, keys, proofOf, sha256 } from '../run/support/evidence';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function report(
    alter: (chain: any) => unknown = () => undefined,
    content: Found<Uint8Array> = { value: bytes(TEXT) },
) {
    const { claims: _, content: __, ...chain } = await good();
    await alter(chain);
    return reportOf(chain, content);
}

/** The groups that do not hold, with their state. */
async function bad(...given: Parameters<typeof report>): Promise<string[]> {
    const { groups } = await report(...given);
    return groups.flatMap(({ name, state }) => (state === 'passed' ? [] : [`${name} ${state}`]));
}

describe('a proof', () => {
    it('of an honest execution holds in four groups of sixteen checks, and shows its result', async () => {
        const { groups, verdict, text } = await report();
        expect(groups.map(({ state, checks }) => [state, checks.length])).toEqual([
            ['passed', 3],
            ['passed', 5],
            ['passed', 5],
            ['passed', 3],
        ]);
        expect([verdict, text]).toEqual(['verified', TEXT]);
    });

    it('with other content fails the content, and does not show it', async () => {
        expect(await bad(undefined, { value: bytes('else') })).toEqual(['content failed']);
        const { verdict, text } = await report(undefined, { value: bytes('else') });
        expect([verdict, text]).toEqual(['failed', null]);
        // Bytes that are no text have the wrong hash, too.
        expect(await bad(undefined, { value: new Uint8Array([255, 254]) })).toEqual(['content failed']);
    });

    it('without content says so, and the rest still holds', async () => {
        const { groups, verdict, contentMissing } = await report(undefined, { missing: 'gone' });
        expect(groups.map(({ state }) => state)).toEqual(['unchecked', 'passed', 'passed', 'passed']);
        expect([verdict, contentMissing]).toEqual(['partly', 'gone']);
        // What is not there hides nothing else of the group.
        const hash = await sha256('else');
        expect(await bad((e) => (e.ending.value.completion.resultHash = hash), { missing: 'gone' })).toContain(
            'content failed',
        );
    });

    it('with another signature, key or message fails the signature', async () => {
        const data = (e: any): Uint8Array => e.ending.value.transaction.instructions[0].data;
        expect(await bad((e) => (data(e)[60]! ^= 1))).toEqual(['signature failed']);
        expect(await bad((e) => (data(e)[3]! ^= 1))).toEqual(['signature failed']);
        const hash = await sha256(TEXT);
        expect(
            await bad(async (e) => (e.ending.value.transaction.instructions[0] = await proofOf(keys, hash))),
        ).toEqual(['signature failed']);
        expect(await bad((e) => (e.listing.value.resultKey = key(77)))).toEqual(['signature failed']);
    });

    it('with another record fails the chain, and whatever rests on it', async () => {
        expect(await bad((e) => (e.record.value.executionId = new Uint8Array(16)))).toEqual(['chain failed']);
        expect(await bad((e) => (e.record.value.agent = key(98)))).toContain('chain failed');
        expect(await bad((e) => (e.opening.value.agent = key(98)))).toEqual(['chain failed']);
        expect(await bad((e) => (e.record.value.status = Status.Disputed))).toEqual(['chain failed']);
        expect(await bad(async (e) => (e.record.value.resultHash = await sha256('else')))).toEqual([
            'content failed',
            'signature failed',
            'chain failed',
        ]);
        expect(await bad((e) => (e.ending = { missing: 'not kept' }))).toEqual([
            'content failed',
            'signature failed',
            'chain failed',
            'money failed',
        ]);
    });

    it('with other amounts fails the money', async () => {
        expect(await bad((e) => (e.record.value.amount = 20_000n))).toEqual(['money failed']);
        expect(await bad((e) => (e.ending.value.transaction.changes[1].change += 1n))).toEqual(['money failed']);
        expect(await bad((e) => (e.ending.value.completion.tokensUsed = 9n))).toEqual(['money failed']);
        expect(await bad((e) => (e.config = { missing: 'not kept' }))).toEqual(['signature failed', 'money failed']);
    });

    it('of a disputed execution follows the dispute', async () => {
        const disputed =
            (status: number, outcome: number, compensation = 0n) =>
            (e: any) => {
                e.record.value.status = status;
                e.dispute = { value: { outcome, compensation } };
            };
        expect(await bad(disputed(Status.Disputed, Outcome.Open))).toEqual([]);
        expect(await bad(disputed(Status.Overturned, Outcome.Upheld, 4_000n))).toEqual([]);
        expect(await bad(disputed(Status.Completed, Outcome.Rejected))).toEqual([]);
        expect(await bad(disputed(Status.Completed, Outcome.Upheld, 4_000n))).toEqual(['chain failed', 'money failed']);
    });

    it('of a refund has no content and no signature to check', async () => {
        const refunded = (e: any) => {
            Object.assign(e.record.value, { status: Status.Failed, failureReason: 1, resultHash: new Uint8Array(32) });
            Object.assign(e.ending.value, { payees: { kind: 'refunded', caller: key(13) }, completion: null });
            e.ending.value.transaction.changes = [
                e.ending.value.transaction.changes[0],
                { account: key(13), owner: key(1), mint: key(6), change: 10_000n },
            ];
        };
        expect(await bad(refunded, { missing: 'there is no result' })).toEqual(['content none', 'signature none']);
        expect(await report(refunded, { missing: 'x' })).toMatchObject({ verdict: 'verified', contentMissing: null });
        const short = (e: any) => {
            refunded(e);
            e.ending.value.transaction.changes[1].change = 9_999n;
        };
        expect(await bad(short, { missing: 'x' })).toContain('money failed');
    });
});
