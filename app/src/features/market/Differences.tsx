// What another set of parameters changes: each value as it is and as it will be, and for whom.

import { Table } from '../../shared/ui/Table';
import { type Difference, type MarketParameters, differencesOf } from './parameters';
import { words } from './words';

const w = words.differences;

const COLUMNS = [
    { name: w.name, cell: ({ name }: Difference) => name },
    { name: w.before, cell: ({ before }: Difference) => before },
    { name: w.after, cell: ({ after }: Difference) => <strong>{after}</strong> },
    { name: w.effect, cell: ({ effect }: Difference) => <span className="muted">{effect}</span> },
];

export type DifferencesProps = { caption: string; before: MarketParameters; after: MarketParameters };

export const Differences = ({ caption, before, after }: DifferencesProps) => (
    <Table caption={caption} columns={COLUMNS} rows={differencesOf(before, after)} rowKey={({ name }) => name} />
);
