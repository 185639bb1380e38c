// The strip of an agent's days has every day of its window.

import { expect, test } from 'vitest';

import type { AgentHistory } from '../../src/features/agent/query';
import { cellsOf } from '../../src/features/agent/strip';

const day = (name: string, completed: number, failed: number) =>
    ({ day: name, completed_executions: completed, failed_executions: failed }) as AgentHistory['days'][number];

test('days without calls are there, in their order, and today is the last', () => {
    const cells = cellsOf(
        [day('2026-11-28', 3, 1), day('2026-10-30', 1, 0), day('2026-10-01', 9, 9)],
        30,
        new Date('2026-11-28T23:59:59Z'),
    );
    expect(cells).toHaveLength(30);
    expect(cells[0]).toEqual({ day: '2026-10-30', completed: 1, failed: 0 });
    expect(cells[28]).toEqual({ day: '2026-11-27', completed: 0, failed: 0 });
    expect(cells[29]).toEqual({ day: '2026-11-28', completed: 3, failed: 1 });
});

test('a window that no service has costs nothing', () => {
    expect(cellsOf([], 1e9, new Date())).toHaveLength(366);
    expect(cellsOf([], -1, new Date())).toHaveLength(1);
});
