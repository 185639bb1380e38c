// A table that a narrow screen shows in another form: as cards, in which each cell carries the heading of its column, or
// as rows of two lines. A row leads where its link with `data-row` leads.

import type { ReactNode } from 'react';

import { followRow } from './followRow';
import styles from './Table.module.css';

export type Column<Row> = {
    readonly name: string;
    readonly cell: (row: Row) => ReactNode;
    /** Figures stand at the right, under one another. */
    readonly isNumber?: true;
    /** In rows of two lines: at the start or the end of the first line, in the second, in the rest of that, or nowhere. */
    readonly place?: 'start' | 'end' | 'second' | 'rest';
    /** Only in rows of two lines. */
    readonly isNarrow?: true;
};

export type TableProps<Row> = {
    /** Says what the rows are; for screen readers. */
    caption: string;
    columns: readonly Column<Row>[];
    rows: readonly Row[];
    rowKey: (row: Row) => string;
    /** How a narrow screen shows it. */
    narrow?: 'cards' | 'lines';
    /** A click anywhere in a row follows the link of the row. */
    isLeading?: boolean;
};

export const Table = <Row,>({
    caption,
    columns,
    rows,
    rowKey,
    narrow = 'cards',
    isLeading = false,
}: TableProps<Row>) => (
    <table className={`${styles.table} ${styles[narrow]} ${isLeading ? styles.leading : ''}`}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
            <tr>
                {columns.map(({ name, isNumber, isNarrow }) => (
                    <th key={name} scope="col" data-narrow={isNarrow} className={isNumber && styles.number}>
                        {name}
                    </th>
                ))}
            </tr>
        </thead>
        <tbody>
            {rows.map((row) => (
                <tr key={rowKey(row)} onClick={isLeading ? followRow : undefined}>
                    {columns.map(({ name, cell, isNumber, place, isNarrow }) => (
                        <td
                            key={name}
                            data-label={name}
                            data-place={place}
                            data-narrow={isNarrow}
                            className={isNumber && styles.number}
                        >
                            {cell(row)}
                        </td>
                    ))}
                </tr>
            ))}
        </tbody>
    </table>
);
