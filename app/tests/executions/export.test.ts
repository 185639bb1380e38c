// The export reads everything once and in order, and says so when it does not have everything.

import { expect, test } from 'vitest';

import { type ExportOptions, fileName, readAll, toCsv } from '../../src/features/executions/export';
import type { ListedExecution } from '../../src/features/executions/query';
import { ApiError } from '../../src/shared/api/client';

const row = (number: number, change: Partial<ListedExecution> = {}): ListedExecution => ({
    execution_id: `id-${number}`,
    agent_id: 'agent',
    agent_name: 'Name',
    status: 'completed',
    cost_usdc: 10_000n,
    creator_amount_usdc: 9_500n,
    platform_amount_usdc: 500n,
    execution_time_ms: null,
    session_public_key: null,
    failure: null,
    initiated_at: '2026-11-21T10:00:00Z',
    completed_at: null,
    on_chain_record: 'https://explorer.test/record',
    ...change,
});

/** A service with so many executions, a hundred on a page. */
const serviceOf = (total: number) => async (cursor: string | null) => {
    const start = Number(cursor ?? 0);
    const executions = Array.from({ length: Math.min(100, total - start) }, (_, index) => row(start + index));
    const next = start + executions.length;
    return { executions, total, limit: 100, offset: 0, next_cursor: next < total ? String(next) : null };
};

const run = (change: Partial<ExportOptions>) =>
    readAll({
        readPage: serviceOf(250),
        signal: new AbortController().signal,
        onProgress: () => undefined,
        pauseMs: 0,
        ...change,
    });

test.each([0, 1, 99, 100, 101, 250])('all of %i rows, each once', async (total) => {
    const exported = await run({ readPage: serviceOf(total) });
    expect(exported).toMatchObject({ total, end: 'all' });
    expect(exported.rows.map(({ execution_id }) => execution_id)).toEqual(
        Array.from({ length: total }, (_, index) => `id-${index}`),
    );
});

test('what is cut off says so, in its name too', async () => {
    const exported = await run({ most: 120 });
    expect(exported).toMatchObject({ total: 250, end: 'most' });
    expect(exported.rows).toHaveLength(120);
    expect(fileName(exported, 'caller', '2026-11-23')).toBe('executions-caller-2026-11-23-first-120-of-250.csv');
    const whole = await run({ most: 250 });
    expect([whole.end, whole.rows.length]).toEqual(['all', 250]);
    expect(fileName(whole, 'creator', '2026-11-23')).toBe('executions-creator-2026-11-23.csv');
});

test('it can be stopped, and keeps what it has', async () => {
    const controller = new AbortController();
    const exported = await run({ signal: controller.signal, onProgress: () => controller.abort() });
    expect(exported).toMatchObject({ total: 250, end: 'stopped' });
    expect(exported.rows).toHaveLength(100);
});

test('a busy service is asked again, a refusal ends it', async () => {
    const service = serviceOf(250);
    let failures = 0;
    const busy = await run({
        readPage: async (cursor) => {
            failures += 1;
            if (failures % 3 !== 0) throw new ApiError(503, 'unavailable', 'busy', null, 1);
            return service(cursor);
        },
    });
    expect([busy.end, busy.rows.length]).toEqual(['all', 250]);
    const refused = await run({
        readPage: async (cursor) => {
            if (cursor !== null) throw new ApiError(401, 'unauthorized', 'The session has ended.');
            return service(cursor);
        },
    });
    expect(refused.end).toMatchObject({ message: 'The session has ended.' });
    expect(refused.rows).toHaveLength(100);
});

test('a table has the columns of its head, exact amounts and no formulas', () => {
    const executions = [
        row(1, {
            agent_name: '=HYPERLINK("x", 1)',
            cost_usdc: 18_446_744_073_709_551_615n,
            creator_amount_usdc: 18_262_276_632_972_456_099n,
            platform_amount_usdc: 1n,
            execution_time_ms: 1_234,
            session_public_key: 'key',
        }),
        row(2, { status: 'failed', failure: '+timeout', creator_amount_usdc: 0n, platform_amount_usdc: 0n }),
    ];
    const [head, ...lines] = toCsv(executions, new Map([['key', '@SUM(1,2)']])).split('\r\n');
    expect(head).toBe(
        'execution_id,agent_id,agent_name,status,cost_usdc,initiated_at,completed_at,on_chain_record,creator_amount_usdc,platform_amount_usdc,execution_time_ms,failure,session_public_key,key_name',
    );
    expect(lines).toEqual([
        'id-1,agent,"\'=HYPERLINK(""x"", 1)",completed,18446744073709.551615,2026-11-21T10:00:00Z,,https://explorer.test/record,18262276632972.456099,0.000001,1234,,key,"\'@SUM(1,2)"',
        "id-2,agent,Name,failed,0.01,2026-11-21T10:00:00Z,,https://explorer.test/record,0,0,,'+timeout,,",
        '',
    ]);
});
