// The report of an audit, which the API does not describe: nothing in it is believed to have a shape.

import { anything, assert, property } from 'fast-check';
import { expect, test } from 'vitest';

import { readAudit } from '../../src/features/network/audit';

test('a report is read with its checks in words', () => {
    const report = readAudit({
        ok: false,
        complete: true,
        at: '2026-11-23T02:00:00Z',
        slot: 12,
        source: 'node.example',
        witness: null,
        checks: {
            accounts: { compared: 6, faults: 1, unproven: 2, complete: true },
            later: { compared: 1, faults: 0, unproven: 0, complete: false },
        },
        faults: [{ check: 'accounts', place: 'AS6j', message: 'the row is missing' }],
    });
    expect(report).toMatchObject({
        isOk: false,
        isComplete: true,
        slot: 12,
        witness: null,
        faults: ['AS6j: the row is missing'],
    });
    expect(report?.checks).toEqual([
        { name: 'Every account of the chain is in the index', compared: 6, faults: 1, unproven: 2, isComplete: true },
        { name: 'later', compared: 1, faults: 0, unproven: 0, isComplete: false },
    ]);
});

test('whatever the service sends, reading it does not fail, and nothing but `true` is in order', () => {
    assert(
        property(anything(), (report) => {
            const read = readAudit(report);
            expect(read?.isOk ?? false).toBe((report as { ok?: unknown } | null)?.ok === true && read !== null);
        }),
    );
    expect(readAudit(null)).toBeNull();
});
