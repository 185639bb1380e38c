// What was earned on each day, and how the executions of each day ended.

import { formatCount } from '../../../shared/figures';
import { formatUsdc } from '../../../shared/money';
import { Plot } from '../../../shared/plot/Plot';
import { type Measure, endings } from '../../../shared/plot/measure';
import type { Column } from '../../../shared/ui/Table';
import type { EarningsDay } from './history';
import { words } from './words';

const COLUMNS: readonly Column<EarningsDay>[] = [
    { name: words.completed, cell: (day) => formatCount(day.completed_executions), isNumber: true },
    { name: words.failed, cell: (day) => formatCount(day.failed_executions), isNumber: true },
    { name: words.disputed, cell: (day) => formatCount(day.disputed_executions), isNumber: true },
    { name: words.feesColumn, cell: (day) => formatUsdc(day.fees_usdc), isNumber: true },
    { name: words.earnedColumn, cell: (day) => formatUsdc(day.earned_usdc), isNumber: true },
];

const MEASURES: readonly [Measure<EarningsDay>, Measure<EarningsDay>] = [
    {
        name: words.earned,
        kind: 'bars',
        series: [{ name: words.earnedColumn, tone: 'accent', of: (day) => day.earned_usdc }],
        format: formatUsdc,
    },
    endings(words.executions, (day) => day),
];

export const EarningsPlot = ({ days, windowDays }: { days: readonly EarningsDay[]; windowDays: number }) => (
    <Plot
        title={words.plot}
        days={days}
        knownDays={windowDays}
        measures={MEASURES}
        nothing={words.noneEnded}
        columns={COLUMNS}
        tableCaption={words.table}
    />
);
