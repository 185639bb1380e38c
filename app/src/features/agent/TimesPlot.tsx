// How long executions of an agent take, day by day, and how they ended.

import { formatCount, formatMs } from '../../shared/figures';
import { Plot } from '../../shared/plot/Plot';
import { type Measure, endings } from '../../shared/plot/measure';
import type { Column } from '../../shared/ui/Table';
import { historyWords as words } from './historyWords';
import type { AgentHistory } from './query';

type Day = AgentHistory['days'][number];

const bigintOf = (ms: number | null): bigint | null => (ms === null ? null : BigInt(Math.round(ms)));
const timeOf = (ms: number | null): string => (ms === null ? '–' : formatMs(ms));

const COLUMNS: readonly Column<Day>[] = [
    { name: words.median, cell: (day) => timeOf(day.p50_execution_time_ms), isNumber: true },
    { name: words.p95, cell: (day) => timeOf(day.p95_execution_time_ms), isNumber: true },
    { name: words.completed, cell: (day) => formatCount(day.completed_executions), isNumber: true },
    { name: words.failed, cell: (day) => formatCount(day.failed_executions), isNumber: true },
];

const MEASURES: readonly [Measure<Day>, Measure<Day>] = [
    {
        name: words.time,
        kind: 'lines',
        series: [
            { name: words.median, tone: 'accent', of: (day) => bigintOf(day.p50_execution_time_ms) },
            { name: words.p95, tone: 'muted', of: (day) => bigintOf(day.p95_execution_time_ms) },
        ],
        format: (value) => formatMs(Number(value)),
    },
    endings(words.executions, (day) => day),
];

export function TimesPlot({ days, windowDays }: { days: readonly Day[]; windowDays: number }) {
    if (days.length === 0) return <p className="muted">{words.noneInDays}</p>;
    return (
        <Plot
            title={words.plot}
            days={days}
            knownDays={windowDays}
            measures={MEASURES}
            nothing={words.nothing}
            columns={COLUMNS}
            tableCaption={words.table}
        />
    );
}
