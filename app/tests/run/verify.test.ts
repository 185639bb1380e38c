// The checks of Verify: an honest execution passes all of them, and each thing that is altered fails the checks that it
// should (as sdk/rust/src/verify/checks/tests.rs).

import { type Address, address, generateKeyPair, getAddressEncoder } from '@solana/kit';
import { beforeAll, describe, expect, it } from 'vitest';

import { findEscrowAddress } from '../../src/chain/addresses';
import { uuidText } from '../../src/chain/record';
import { hasSmallOrder } from '../../src/chain/smallOrder';
import { StoredExecutionStatus as Status } from '../../src/chain/stored';
import { TOKEN_PROGRAM } from '../../src/chain/token';
import { isRefund, runChecks } from '../../src/features/execution/verify/checks';
import { type Evidence, sha256Text } from '../../src/features/execution/verify/evidence';
import { TEXT, good, key, keys, proofOf, sha256 } from './support/evidence';

let stranger: CryptoKeyPair;

beforeAll(async () => {
    stranger = await generateKeyPair();
});

async function failing(evidence: Evidence): Promise<string[]> {
    return (await runChecks(evidence)).filter(({ ok }) => !ok).map(({ name }) => name);
}

/** What fails after one thing is altered. */
async function after(alter: (evidence: any) => unknown, binding = 1): Promise<string[]> {
    const evidence = await good(binding);
    await alter(evidence);
    return failing(evidence);
}

const PROOF = ['gate', 'message', 'key', 'signature', 'listing'];

describe('the checks of an execution with a result', () => {
    it('are sixteen, and an honest execution passes them, bound or not', async () => {
        expect(await runChecks(await good())).toHaveLength(16);
        expect(await failing(await good())).toEqual([]);
        expect(await failing(await good(0))).toEqual([]);
    });

    it('notice altered content, result, address and hash', async () => {
        expect(await after((e) => (e.content.value = new TextEncoder().encode(`${TEXT}!`)))).toEqual(['content']);
        expect(await after((e) => (e.content = { missing: 'the service answers 404' }))).toEqual(['content']);
        expect(await after((e) => (e.claims.result = 'else'))).toEqual(['result']);
        expect(await after((e) => (e.claims.ipfs_url = 'http://x.test/ipfs/bafkreiother'))).toEqual(['address']);
        const other = await sha256Text(new TextEncoder().encode('else'));
        expect(await after((e) => (e.claims.result_hash = other))).toEqual([
            'content',
            'result',
            'address',
            'commitment',
        ]);
    });

    it('notice another record, wallet, agent or status', async () => {
        expect(await after((e) => (e.recordAddress = key(99)))).toContain('identity');
        expect(await after((e) => (e.claims.execution_id = uuidText(new Uint8Array(16))))).toEqual(['identity']);
        expect(await after((e) => (e.claims.agent_id = key(98)))).toEqual(['identity']);
        expect(await after((e) => (e.claims.status = 'failed'))).toEqual(['status']);
        expect(await after((e) => (e.record.value.status = Status.Open))).toEqual(['status']);
        expect(await after((e) => (e.record = { missing: 'owned by another program' }))).toContain('record');
    });

    it('notice a proof of another place, shape, key, message or signature', async () => {
        const data = (e: any): Uint8Array => e.ending.value.transaction.instructions[0].data;
        for (let at = 0; at < 16; at += 1) expect(await after((e) => (data(e)[at]! ^= 1))).toEqual(['gate']);
        expect(await after((e) => (data(e)[60]! ^= 1))).toEqual(['signature']);
        expect(await after((e) => (data(e)[120]! ^= 1))).toEqual(['message']);
        expect(await after((e) => (e.ending.value.at = 0))).toEqual(PROOF);
        expect(await after((e) => (e.ending.value.transaction.instructions[0].programId = key(9)))).toEqual(PROOF);
        expect(await after((e) => e.ending.value.transaction.instructions[0].accounts.push(key(9)))).toEqual(PROOF);
        const hash = await sha256(TEXT);
        expect(
            await after(
                async (e) =>
                    (e.ending.value.transaction.instructions[0] = await proofOf(stranger, hash, e.recordAddress)),
            ),
        ).toEqual(['key', 'listing']);
        expect(
            await after(async (e) => (e.ending.value.transaction.instructions[0] = await proofOf(keys, hash))),
        ).toEqual(PROOF);
        expect(
            await after(async (e) => (e.ending.value.transaction.instructions[0] = await proofOf(keys, hash, key(88)))),
        ).toEqual(['message', 'signature']);
    });

    it('accept a key that was rotated later, and terms that have changed since', async () => {
        expect(
            await after((e) => Object.assign(e.listing.value, { resultKey: key(77), updatedAtUnixS: 2_000n })),
        ).toEqual([]);
        expect(await after((e) => (e.listing.value.resultKey = key(77)))).toEqual(['listing']);
        expect(await after((e) => (e.listing.value.metadataHash = new Uint8Array(32)))).toEqual([]);
        expect(await after((e) => (e.config.value.parameters.settleGraceS = 121n))).toEqual([]);
        expect(await after((e) => (e.opening.value.termsHash = null))).toEqual([]);
    });

    it('notice money that went elsewhere and amounts that are stated otherwise', async () => {
        for (const index of [0, 1, 2])
            expect(await after((e) => (e.ending.value.transaction.changes[index].change += 1n))).toEqual(['payment']);
        expect(await after((e) => (e.ending.value.transaction.changes[1].owner = key(66)))).toEqual(['payment']);
        expect(await after((e) => (e.ending.value.transaction.changes[2].mint = key(66)))).toEqual(['payment']);
        expect(await after((e) => (e.record.value.feeBps = 501))).toEqual(['split', 'payment', 'amounts']);
        for (const name of ['cost_usdc', 'creator_amount_usdc', 'platform_amount_usdc']) {
            expect(await after((e) => (e.claims[name] += 1n))).toEqual(['amounts']);
        }
        expect(await after((e) => (e.claims.execution_time_ms = 8))).toEqual(['amounts']);
        expect(await after((e) => (e.claims.tokens_used = 8))).toEqual(['amounts']);
    });

    it('count the money of this execution alone, if its transaction ends several', async () => {
        const shared = (toCreator: bigint, mint = key(6)) =>
            after(async (e) => {
                const transfer = (to: Address, amount: bigint, by: number) => {
                    const data = new Uint8Array(10);
                    data[0] = 12;
                    new DataView(data.buffer).setBigUint64(1, amount, true);
                    return { programId: TOKEN_PROGRAM, accounts: [escrow, mint, to, key(9)], data, by };
                };
                const escrow = await findEscrowAddress(key(2));
                const { transaction } = e.ending.value;
                for (const change of transaction.changes) change.change *= 2n;
                transaction.inner = [
                    transfer(key(11), toCreator, 1),
                    transfer(key(12), 100n, 1),
                    transfer(key(11), 9_900n, 3),
                    transfer(key(12), 100n, 3),
                ];
            });
        expect(await shared(9_900n)).toEqual([]);
        expect(await shared(9_899n)).toEqual(['payment']);
        expect(await shared(9_900n, key(66))).toEqual(['payment']);
    });

    it('lower the cost by the compensation of an upheld dispute', async () => {
        const overturned = (cost: bigint) =>
            after((e) => {
                e.record.value.status = Status.Overturned;
                e.dispute = { value: { compensation: 4_000n } };
                Object.assign(e.claims, { status: 'failed', cost_usdc: cost });
            });
        expect(await overturned(6_000n)).toEqual([]);
        expect(await overturned(10_000n)).toEqual(['amounts']);
    });
});

describe('the checks of a refund', () => {
    const refunded = async (alter: (evidence: any) => unknown = () => undefined): Promise<Evidence> => {
        const evidence: any = await good();
        Object.assign(evidence.record.value, {
            status: Status.Failed,
            failureReason: 1,
            resultHash: new Uint8Array(32),
        });
        Object.assign(evidence.claims, {
            status: 'failed',
            result: null,
            result_hash: null,
            ipfs_url: null,
            cost_usdc: 0n,
            creator_amount_usdc: 0n,
            platform_amount_usdc: 0n,
        });
        evidence.ending.value.payees = { kind: 'refunded', caller: key(13) };
        evidence.ending.value.transaction.changes = [
            evidence.ending.value.transaction.changes[0],
            { account: key(13), owner: key(1), mint: key(6), change: 10_000n },
        ];
        alter(evidence);
        return evidence;
    };

    it('are six, and an honest refund passes them', async () => {
        const evidence = await refunded();
        expect(isRefund(evidence)).toBe(true);
        expect(await runChecks(evidence)).toHaveLength(6);
        expect(await failing(evidence)).toEqual([]);
    });

    it('notice money that did not go back, and anything that is stated as paid', async () => {
        for (const index of [0, 1]) {
            expect(
                await failing(await refunded((e) => (e.ending.value.transaction.changes[index].change -= 1n))),
            ).toEqual(['payment']);
        }
        expect(await failing(await refunded((e) => (e.ending.value.transaction.changes[1].owner = key(66))))).toEqual([
            'payment',
        ]);
        expect(await failing(await refunded((e) => (e.claims.cost_usdc = 1n)))).toEqual(['amounts']);
        expect(await failing(await refunded((e) => (e.claims.result = 'made up')))).toEqual(['amounts']);
        expect(await failing(await refunded((e) => (e.claims.status = 'completed')))).toEqual(['status']);
        expect(await failing(await refunded((e) => (e.record.value.failureReason = 0)))).toEqual(['status']);
    });
});

describe('Ed25519 by the strict rules', () => {
    it('refuses keys and points under which anything verifies', () => {
        const encoder = getAddressEncoder();
        expect(hasSmallOrder(encoder.encode(address('11111111111111111111111111111111')))).toBe(true);
        const one = new Uint8Array(32);
        one[0] = 1;
        expect(hasSmallOrder(one)).toBe(true);
        one[31] = 0x80;
        expect(hasSmallOrder(one)).toBe(true);
        expect(hasSmallOrder(encoder.encode(address('4LWe7yJS7sgcZSnGtPgo6XMby8omoqrZPM1Hj7B8bQj7')))).toBe(false);
    });
});
