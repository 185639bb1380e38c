// What a form of limits says becomes exactly these limits, or a reason at the right field.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { EMPTY, type LimitsDraft, draftOf, expiresAt, isLimits, readLimits } from '../../src/features/keys/limits';
import { MAX_USDC, usdcText } from '../../src/shared/money';
import { nameProblem } from '../../src/shared/text/plain';

/** A clock says more than whole seconds. */
const NOW = 1_800_000_000.676;
const END = 1_800_000_060n;
const draft = (change: Partial<LimitsDraft>): LimitsDraft => ({ ...EMPTY, perCall: '0.1', total: '5', ...change });

test('amounts keep every digit', () => {
    const caps = fc.bigInt({ min: 1n, max: MAX_USDC });
    fc.assert(
        fc.property(caps, caps, (one, other) => {
            const [perCallCap, totalCap] = one < other ? [one, other] : [other, one];
            const read = readLimits(draft({ perCall: usdcText(perCallCap), total: usdcText(totalCap) }), NOW);
            expect(read).toMatchObject({ perCallCap, totalCap, dailyCap: 0n, agents: [] });
        }),
    );
});

test.each([[0n], [123_456n], [1_000_000n]])(
    'the limits of a grant with %d for a day, shown and read again, are the same',
    (dailyCap) => {
        const grant = { perCallCap: 123_456n, totalCap: 9_000_000n, dailyCap };
        const read = readLimits(draftOf(grant, ['a']), NOW, END);
        expect(read).toEqual({ ...grant, expiry: { at: END }, agents: ['a'] });
    },
);

test('a day without a limit is an empty field, and one with a limit keeps every digit', () => {
    expect(draftOf({ perCallCap: 1n, totalCap: 1n, dailyCap: 0n }, []).daily).toBe('');
    expect(readLimits(draft({ daily: ' 0.1234567 ' }), NOW)).toHaveProperty('daily');
    expect(readLimits(draft({ daily: '0.123456' }), NOW)).toMatchObject({ dailyCap: 123_456n });
    expect(readLimits(draft({ daily: '  ' }), NOW)).toMatchObject({ dailyCap: 0n });
});

test.each<[Partial<LimitsDraft>, string]>([
    [{ perCall: '' }, 'perCall'],
    [{ perCall: '0' }, 'perCall'],
    [{ perCall: '6' }, 'perCall'],
    [{ total: '1,5' }, 'total'],
    [{ total: '0.000' }, 'total'],
    [{ daily: '0' }, 'daily'],
    [{ daily: '0.09' }, 'daily'],
    [{ daily: 'much' }, 'daily'],
    [{ lifetime: 'date', until: '' }, 'until'],
    [{ lifetime: 'date', until: '2020-01-01T00:00' }, 'until'],
    [{ lifetime: 'date', until: '2099-01-01T00:00' }, 'until'],
    [{ isLimited: true, agents: [] }, 'agents'],
])('%o is explained at its field', (change, field) => {
    const read = readLimits(draft(change), NOW);
    expect(isLimits(read)).toBe(false);
    expect(Object.keys(read)).toEqual([field]);
});

test('a life begins when the chain is read, and an expired key needs a new end', () => {
    const read = readLimits(draft({ lifetime: '86400' }), NOW);
    expect(isLimits(read) && expiresAt(read, 1_000n)).toBe(87_400n);
    expect(readLimits(draft({ lifetime: 'keep' }), NOW, BigInt(Math.floor(NOW)))).toHaveProperty('until');
});

test.each(['ci', 'my laptop (2)', 'Schlüssel 字', 'ci/cd ✓', 'x'.repeat(64), '🚀'.repeat(64)])(
    '%o is a name',
    (name) => {
        expect(nameProblem(name, 64)).toBeUndefined();
    },
);

test.each([
    '',
    ' ',
    ' a',
    'a ',
    'a\nb',
    'a\u200bb',
    'a\u202eb',
    'a\u00a0b',
    'a\u{e0041}',
    '\ufeffa',
    '👨\u200d👩',
    'x'.repeat(65),
])('%o is no name', (name) => {
    expect(nameProblem(name, 64)).toBeTypeOf('string');
});
