// A schema for people, and as JSON for those who want all of it.

import { Fragment, type ReactNode } from 'react';

import { UserBlock, UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import { type SchemaRow, schemaRows } from './schemaRows';
import styles from './SchemaTable.module.css';

/** `words`: how a description is shown. */
export const SchemaRows = ({ rows, words }: { rows: readonly SchemaRow[]; words: (text: string) => ReactNode }) => (
    <dl className={styles.rows}>
        {rows.map((row) => (
            <Fragment key={row.path}>
                <dt data-depth={row.depth}>
                    <code>
                        <UserText text={row.name} />
                    </code>
                    {row.required && <Badge kind="accent">required</Badge>}
                </dt>
                <dd data-depth={row.depth}>
                    <p className="small muted">
                        <UserText text={[row.type, ...row.limits].join(' · ')} />
                    </p>
                    {row.description !== '' && words(row.description)}
                </dd>
            </Fragment>
        ))}
    </dl>
);

export type SchemaTableProps = { id: string; title: string; schema: unknown; none: string };

export function SchemaTable({ id, title, schema, none }: SchemaTableProps) {
    const { rows, more } = schemaRows(schema);
    return (
        <section aria-labelledby={id} className="stack">
            <h2 id={id}>{title}</h2>
            {rows.length === 0 ? (
                <p className="muted">{more ? 'The rules are in the JSON Schema below.' : none}</p>
            ) : (
                <SchemaRows rows={rows} words={(text) => <UserBlock text={text} />} />
            )}
            {more && rows.length > 0 && <p className="muted small">The JSON Schema below has more rules.</p>}
            <details className={styles.raw}>
                <summary>JSON Schema</summary>
                <UserBlock text={JSON.stringify(schema, null, 2)} code />
            </details>
        </section>
    );
}
