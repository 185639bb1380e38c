// The parameters that hold.

import { percentText } from '../../shared/fee';
import { formatUsdc } from '../../shared/money';
import { exactSpan } from '../../shared/time/spans';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Table } from '../../shared/ui/Table';
import { type MarketParameters, pricesText } from './parameters';
import { words } from './words';

const w = words.parameters;

type Row = { readonly prices: string; readonly collateral: bigint };

const COLUMNS = [
    { name: w.price, cell: ({ prices }: Row) => prices },
    { name: w.collateral, cell: ({ collateral }: Row) => words.usdc(formatUsdc(collateral)) },
];

export const Parameters = ({ parameters }: { parameters: MarketParameters }) => (
    <>
        <Figures>
            <Figure name={w.feeOf}>{percentText(parameters.feeBps)}</Figure>
            <Figure name={w.minPriceOf}>{words.usdc(formatUsdc(parameters.minPrice))}</Figure>
            <Figure name={w.windowOf}>{exactSpan(Number(parameters.disputeWindowS))}</Figure>
            <Figure name={w.bond}>{words.usdc(formatUsdc(parameters.disputeBond))}</Figure>
            <Figure name={w.graceOf}>{exactSpan(Number(parameters.settleGraceS))}</Figure>
            <Figure name={w.penalty}>{w.times(parameters.maxPenaltyMultiple)}</Figure>
        </Figures>
        <Table
            caption={w.tiers}
            columns={COLUMNS}
            rows={parameters.collateralTiers.map(({ collateral }, index, tiers) => ({
                prices: pricesText(tiers, index),
                collateral,
            }))}
            rowKey={({ prices }) => prices}
        />
    </>
);
