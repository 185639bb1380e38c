// What another set of parameters changes: each value as it is and as it will be, and for whom.

import { Table } from '../../shared/ui/Table';
import { type Difference, type MarketParameters, differencesOf } from './parameters';

const COLUMNS = [
    { name: 'Parameter', cell: ({ name }: Difference) => name },
    { name: 'Now', cell: ({ before }: Difference) => before },
    { name: 'Then', cell: ({ after }: Difference) => <strong>{after}</strong> },
    { name: 'Whom it changes', cell: ({ effect }: Difference) => <span className="muted">{effect}</span> },
];

export type DifferencesProps = { caption: string; before: MarketParameters; after: MarketParameters };

export const Differences = ({ caption, before, after }: DifferencesProps) => (
    <Table caption={caption} columns={COLUMNS} rows={differencesOf(before, after)} rowKey={({ name }) => name} />
);
