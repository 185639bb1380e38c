// Filters of executions in the URL: what the service would refuse never gets there.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { localText, momentOfLocal, readSearch } from '../../src/features/executions/search';

// A time zone without summer time: in autumn an hour would come twice.
process.env['TZ'] = 'Asia/Kolkata';

test('good filters stay, others are left out', () => {
    const agent_id = '4LWe7yJS7sgcZSnGtPgo6XMby8omoqrZPM1Hj7B8bQj7';
    expect(
        readSearch({
            role: 'creator',
            status: 'failed',
            agent_id,
            from: '2026-11-21',
            to: '2026-11-22T12:00:00+01:00',
        }),
    ).toEqual({
        role: 'creator',
        status: 'failed',
        agent_id,
        from: '2026-11-21T00:00:00Z',
        to: '2026-11-22T11:00:00Z',
    });
    expect(
        readSearch({
            role: 'caller',
            status: 'toString',
            agent_id: '0x12',
            from: 'yesterday',
            to: '2026-13-01',
            other: '1',
        }),
    ).toEqual({});
});

test('whatever stands in a URL, reading it again changes nothing', () => {
    const pairs = fc.dictionary(
        fc.constantFrom('role', 'status', 'agent_id', 'from', 'to'),
        fc.oneof(
            fc.string(),
            fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
        ),
    );
    fc.assert(
        fc.property(pairs, (raw) => {
            expect(readSearch(readSearch(raw))).toEqual(readSearch(raw));
        }),
    );
});

test('a moment survives the way through an input', () => {
    const seconds = fc.integer({ min: 0, max: 4_000_000_000 });
    fc.assert(
        fc.property(seconds, (time) => {
            const moment = `${new Date(time * 1_000).toISOString().slice(0, 19)}Z`;
            expect(momentOfLocal(localText(moment))).toBe(moment);
        }),
    );
    expect([localText(undefined), momentOfLocal('')]).toEqual(['', undefined]);
});
