// The sums over all agents of a creator.

import type { Schemas } from '../../shared/api/client';
import { formatCount } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Skeleton } from '../../shared/ui/Skeleton';
import { type AgentRow, sumsOf } from './rows';
import { words } from './words';

const w = words.totals;

export type TotalsProps = { rows: readonly AgentRow[] | null; totals: Schemas['WalletTotalsAnswer'] | undefined };

const Waiting = () => <Skeleton height="1.5rem" width="6rem" />;

export function Totals({ rows, totals }: TotalsProps) {
    const sums = rows && sumsOf(rows);
    return (
        <Figures>
            <Figure name={w.earned}>{totals ? words.usdc(formatUsdc(totals.earned_usdc)) : <Waiting />}</Figure>
            <Figure name={w.collateral}>{sums ? words.usdc(formatUsdc(sums.collateral)) : <Waiting />}</Figure>
            <Figure name={w.slashed}>{totals ? words.usdc(formatUsdc(totals.slashed_usdc)) : <Waiting />}</Figure>
            <Figure name={w.open}>{sums ? formatCount(sums.openExecutions) : <Waiting />}</Figure>
            <Figure name={w.disputes}>{sums ? formatCount(sums.openDisputes) : <Waiting />}</Figure>
        </Figures>
    );
}
