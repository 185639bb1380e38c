import type { Address, Rpc, Signature, SolanaRpcApi } from '@solana/kit';
import { describe, expect, test } from 'vitest';

import { History, type PlainTransaction } from '../src/chain/history';

const AT = 1_000_000;
const ADDRESS = 'Sysvar1nstructions1111111111111111111111111' as Address;

/** A node with so many transactions of strangers behind the one that is looked for, one each second. */
function node(after: number, timed = true) {
    const asked = { pages: 0, read: 0 };
    const all = [...Array.from({ length: after }, (_, at) => `spam${at}`), 'target', 'older'];
    const send = <T>(value: T) => ({ send: () => Promise.resolve(value) });
    const rpc = {
        getSignaturesForAddress: (_: Address, { before, limit }: { before?: string; limit: number }) => {
            asked.pages += 1;
            const from = before === undefined ? 0 : all.indexOf(before) + 1;
            const line = (signature: string, at: number) => ({
                signature,
                err: null,
                blockTime: timed ? BigInt(AT + after - from - at) : null,
            });
            return send(all.slice(from, from + limit).map(line));
        },
        getTransaction: (_: Signature) => {
            asked.read += 1;
            return send({
                blockTime: null,
                transaction: { message: { accountKeys: [], instructions: [] } },
                meta: { err: null },
            });
        },
    };
    return { asked, history: new History(rpc as unknown as Rpc<SolanaRpcApi>, ADDRESS) };
}

const isTarget = (transaction: PlainTransaction) => (transaction.signature === 'target' ? transaction : null);

describe('the history of an account', () => {
    test('transactions of strangers do not slow the search for a known time', async () => {
        for (const after of [0, 400, 5_000]) {
            const { asked, history } = node(after);
            expect(await history.first(isTarget, [AT])).toMatchObject({ signature: 'target' });
            expect(asked.read).toBe(1);
        }
    });

    test('without times of the node the newest are looked at', async () => {
        const { asked, history } = node(400, false);
        expect(await history.first(isTarget, [AT])).toMatchObject({ signature: 'target' });
        expect(asked.read).toBeLessThanOrEqual(409);
    });

    test('a search ends at its bound and says so', async () => {
        const { asked, history } = node(5_000);
        await expect(history.first(isTarget, [AT + 5_000])).rejects.toThrow('strangers can add any number');
        expect(asked.read).toBe(1_000);
    });

    test('what is not there is not found, and the number is said', async () => {
        expect(await node(3).history.first(() => null)).toBe(5);
    });
});
