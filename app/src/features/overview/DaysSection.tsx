// Spend, earnings and calls of a wallet, day by day.

import { Link } from '@tanstack/react-router';

import type { Totals } from '../../shared/api/totals';
import { formatCount } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { Plot } from '../../shared/plot/Plot';
import { type Measure, endings } from '../../shared/plot/measure';
import type { Column } from '../../shared/ui/Table';
import { type WalletDay, walletDays } from './days';
import { KNOWN_DAYS } from './query';
import { words } from './words';

const { plot } = words;

/** A disputed call was completed before. */
const ended = (of: WalletDay['spent']) =>
    of && { completed_executions: of.completed + of.disputed, failed_executions: of.failed };

const SPENT: Measure<WalletDay> = {
    name: plot.spent,
    kind: 'bars',
    series: [{ name: plot.spentColumn, tone: 'accent', of: ({ spent }) => spent?.paid_usdc ?? null }],
    format: formatUsdc,
};
const EARNED: Measure<WalletDay> = {
    name: plot.earned,
    kind: 'bars',
    series: [{ name: plot.earnedColumn, tone: 'accent', of: ({ earned }) => earned?.creator_usdc ?? null }],
    format: formatUsdc,
};
const BUYING = [SPENT, endings<WalletDay>(plot.calls, ({ spent }) => ended(spent))] as const;
const SELLING = [EARNED, endings<WalletDay>(plot.agentCalls, ({ earned }) => ended(earned))] as const;

const count = (day: WalletDay['spent']): string => formatCount(day?.executions ?? 0);

const COLUMNS: readonly Column<WalletDay>[] = [
    { name: plot.calls, cell: ({ spent }) => count(spent), isNumber: true },
    { name: plot.spentColumn, cell: ({ spent }) => formatUsdc(spent?.paid_usdc ?? 0n), isNumber: true },
    { name: plot.agentCalls, cell: ({ earned }) => count(earned), isNumber: true },
    { name: plot.earnedColumn, cell: ({ earned }) => formatUsdc(earned?.creator_usdc ?? 0n), isNumber: true },
];

export function DaysSection({ spent, earned, now }: { spent: Totals | null; earned: Totals | null; now: Date }) {
    const days = walletDays(spent, earned);
    // Who sells more than buys begins with what was earned.
    const isSeller = (earned?.total.executions ?? 0) > (spent?.total.executions ?? 0);
    return (
        <section className="stack" aria-labelledby="days">
            <h2 id="days">{plot.heading}</h2>
            {days.length === 0 ? (
                <p className="muted">{spent === null && earned === null ? plot.notKept : plot.none}</p>
            ) : (
                <Plot
                    title={plot.title}
                    days={days}
                    knownDays={KNOWN_DAYS}
                    measures={isSeller ? [...SELLING, ...BUYING] : [...BUYING, ...SELLING]}
                    nothing={plot.nothing}
                    columns={COLUMNS}
                    tableCaption={plot.table}
                    now={now}
                />
            )}
            <p>
                <Link to="/statement">{words.statement}</Link>
            </p>
        </section>
    );
}
