// A table that becomes a list of cards on a narrow screen: each cell carries the heading of its column.

import type { ReactNode } from 'react';

import styles from './Table.module.css';

export type Column<Row> = {
    readonly name: string;
    readonly cell: (row: Row) => ReactNode;
    /** Figures stand at the right, under one another. */
    readonly isNumber?: true;
};

export type TableProps<Row> = {
    /** Says what the rows are; for screen readers. */
    caption: string;
    columns: readonly Column<Row>[];
    rows: readonly Row[];
    rowKey: (row: Row) => string;
};

export const Table = <Row,>({ caption, columns, rows, rowKey }: TableProps<Row>) => (
    <table className={styles.table}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
            <tr>
                {columns.map(({ name, isNumber }) => (
                    <th key={name} scope="col" className={isNumber && styles.number}>
                        {name}
                    </th>
                ))}
            </tr>
        </thead>
        <tbody>
            {rows.map((row) => (
                <tr key={rowKey(row)}>
                    {columns.map(({ name, cell, isNumber }) => (
                        <td key={name} data-label={name} className={isNumber && styles.number}>
                            {cell(row)}
                        </td>
                    ))}
                </tr>
            ))}
        </tbody>
    </table>
);
