// The days of the strip: every one of the window, also those without calls.

import type { AgentHistory } from './query';

export type Cell = { readonly day: string; readonly completed: number; readonly failed: number };

const DAY_MS = 86_400_000;
const MAX_DAYS = 366;

/** Oldest first, in UTC. `now`: within the last day. */
export function cellsOf(days: AgentHistory['days'], window: number, now: Date): Cell[] {
    const known = new Map(days.map((day) => [day.day, day]));
    const count = Math.min(Math.max(1, Math.trunc(window)), MAX_DAYS);
    return Array.from({ length: count }, (_, index) => {
        const day = new Date(now.getTime() - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10);
        const { completed_executions: completed = 0, failed_executions: failed = 0 } = known.get(day) ?? {};
        return { day, completed, failed };
    });
}
