// The sums over all agents of a creator.

import type { Schemas } from '../../shared/api/client';
import { formatCount } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Skeleton } from '../../shared/ui/Skeleton';
import { type AgentRow, sumsOf } from './rows';

export type TotalsProps = { rows: readonly AgentRow[] | null; totals: Schemas['WalletTotalsAnswer'] | undefined };

const Waiting = () => <Skeleton height="1.5rem" width="6rem" />;

export function Totals({ rows, totals }: TotalsProps) {
    const sums = rows && sumsOf(rows);
    return (
        <Figures>
            <Figure name="Earned in total">{totals ? `${formatUsdc(totals.earned_usdc)} USDC` : <Waiting />}</Figure>
            <Figure name="Collateral locked">{sums ? `${formatUsdc(sums.collateral)} USDC` : <Waiting />}</Figure>
            <Figure name="Taken by disputes">{totals ? `${formatUsdc(totals.slashed_usdc)} USDC` : <Waiting />}</Figure>
            <Figure name="Open executions">{sums ? formatCount(sums.openExecutions) : <Waiting />}</Figure>
            <Figure name="Open disputes">{sums ? formatCount(sums.openDisputes) : <Waiting />}</Figure>
        </Figures>
    );
}
