// The month of a statement, and its file.

import { expect, test } from 'vitest';

import { statementCsv } from '../../src/features/statement/csv';
import { monthName, periodOf, readStatementSearch } from '../../src/features/statement/month';
import type { TotalsGroup } from '../../src/shared/api/totals';

const NOW = new Date('2026-11-28T12:00:00Z');

test('a month of the past has an end, and the month that runs has none', () => {
    expect(periodOf('2026-10', NOW)).toEqual({ from: '2026-10-01T00:00:00Z', to: '2026-11-01T00:00:00Z' });
    expect(periodOf('2025-12', NOW)).toEqual({ from: '2025-12-01T00:00:00Z', to: '2026-01-01T00:00:00Z' });
    expect(periodOf('2026-11', NOW)).toEqual({ from: '2026-11-01T00:00:00Z' });
    expect(monthName('2026-02')).toBe('February 2026');
});

test('only months that are over stand in the URL, and nothing that is no month', () => {
    const read = (month: unknown): unknown => readStatementSearch({ month }, NOW).month;
    expect(read('2026-10')).toBe('2026-10');
    for (const text of ['2026-11', '2026-12', '2019-12', '2026-13', '2026-1', '2026-10-01', '<b>', 202610, null]) {
        expect(read(text)).toBeUndefined();
    }
    expect(readStatementSearch({ role: 'creator' }, NOW)).toEqual({ role: 'creator' });
    expect(readStatementSearch({ role: 'admin' }, NOW)).toEqual({});
});

const group = (change: Partial<TotalsGroup>): TotalsGroup => ({
    day: null,
    session_public_key: null,
    agent_id: null,
    agent_name: null,
    status: null,
    executions: 3,
    completed: 2,
    failed: 1,
    disputed: 0,
    paid_usdc: 100_001n,
    creator_usdc: 99_001n,
    platform_usdc: 1_000n,
    refunded_usdc: 50_000n,
    compensation_usdc: 0n,
    ...change,
});

test('the file has exact amounts, and names of strangers are no formulas', () => {
    const text = statementCsv({
        wallet: 'W',
        total: group({}),
        agents: [group({ agent_id: 'A', agent_name: '=HYPERLINK("http://x"),\n"y"' })],
        keys: [group({ session_public_key: 'K' }), group({})],
        keyNames: new Map([['K', '@nightly']]),
    });
    const figures = '3,2,1,0,0.100001,0.099001,0.001,0.05';
    expect(text.split('\r\n')).toEqual([
        'group,address,name,executions,completed,failed,disputed,paid_usdc,creator_usdc,platform_usdc,refunded_usdc',
        `agent,A,"'=HYPERLINK(""http://x""),\n""y""",${figures}`,
        `key,K,'@nightly,${figures}`,
        `key,,,${figures}`,
        `total,W,,${figures}`,
        '',
    ]);
});
