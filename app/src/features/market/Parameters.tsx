// The parameters that hold.

import { percentText } from '../../shared/fee';
import { formatUsdc } from '../../shared/money';
import { exactSpan } from '../../shared/time/spans';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Table } from '../../shared/ui/Table';
import { type MarketParameters, pricesText } from './parameters';

type Row = { readonly prices: string; readonly collateral: bigint };

const COLUMNS = [
    { name: 'Price of a call', cell: ({ prices }: Row) => prices },
    { name: 'Collateral', cell: ({ collateral }: Row) => `${formatUsdc(collateral)} USDC` },
];

export const Parameters = ({ parameters }: { parameters: MarketParameters }) => (
    <>
        <Figures>
            <Figure name="Fee of a payment">{percentText(parameters.feeBps)}</Figure>
            <Figure name="Lowest price of a call">{formatUsdc(parameters.minPrice)} USDC</Figure>
            <Figure name="A dispute can be raised for">{exactSpan(Number(parameters.disputeWindowS))}</Figure>
            <Figure name="Bond of a dispute">{formatUsdc(parameters.disputeBond)} USDC</Figure>
            <Figure name="Settlement after a time-out">{exactSpan(Number(parameters.settleGraceS))}</Figure>
            <Figure name="Highest penalty">{parameters.maxPenaltyMultiple} times the amount paid</Figure>
        </Figures>
        <Table
            caption="Collateral that an agent locks, by its price"
            columns={COLUMNS}
            rows={parameters.collateralTiers.map(({ collateral }, index, tiers) => ({
                prices: pricesText(tiers, index),
                collateral,
            }))}
            rowKey={({ prices }) => prices}
        />
    </>
);
