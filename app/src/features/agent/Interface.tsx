// What an agent takes and returns, in one table, and as JSON Schemas for those who want all of it.

import type { ReactNode } from 'react';

import { UserBlock, UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import styles from './Interface.module.css';
import type { Agent } from './query';
import { type SchemaRow, schemaRows } from './schemaRows';
import { words } from './words';

export const Interface = ({ agent: { input_schema: input, output_schema: output } }: { agent: Agent }) => (
    <section aria-labelledby="interface" className="stack">
        <h2 id="interface">{words.interface}</h2>
        <Members labelledBy="interface">
            <Side name={words.input} schema={input} none={words.noInput} />
            <Side name={words.output} schema={output} none={words.noOutput} />
        </Members>
        <Raw name={words.inputSchema} schema={input} />
        <Raw name={words.outputSchema} schema={output} />
    </section>
);

export type SchemaTableProps = { id: string; title: string; schema: unknown; none: string };

/** One schema alone, below a heading of its own. */
export const SchemaTable = ({ id, title, schema, none }: SchemaTableProps) => (
    <section aria-labelledby={id} className="stack">
        <h2 id={id}>{title}</h2>
        <Members labelledBy={id}>
            <Side schema={schema} none={none} />
        </Members>
        <Raw name={words.schema} schema={schema} />
    </section>
);

const Members = ({ labelledBy, children }: { labelledBy: string; children: ReactNode }) => (
    <div className={styles.scroll}>
        <table className={styles.table} aria-labelledby={labelledBy}>
            <thead>
                <tr>
                    <th scope="col">{words.member}</th>
                    <th scope="col">{words.type}</th>
                </tr>
            </thead>
            {children}
        </table>
    </div>
);

function Side({ name, schema, none }: { name?: string; schema: unknown; none: string }) {
    const { rows, more } = schemaRows(schema);
    return (
        <tbody>
            {name !== undefined && (
                <tr>
                    <th scope="rowgroup" colSpan={2} className={styles.side}>
                        {name}
                    </th>
                </tr>
            )}
            {rows.length === 0 && <Note>{more ? words.onlyInSchema : none}</Note>}
            {rows.map((row) => (
                <Row key={row.path} row={row} />
            ))}
            {more && rows.length > 0 && <Note>{words.moreInSchema}</Note>}
        </tbody>
    );
}

const Note = ({ children }: { children: ReactNode }) => (
    <tr>
        <td colSpan={2} className="muted">
            {children}
        </td>
    </tr>
);

const Row = ({ row }: { row: SchemaRow }) => (
    <tr>
        <th scope="row" data-depth={row.depth}>
            <code>
                <UserText text={row.name} />
            </code>{' '}
            {row.required && <Badge kind="accent">{words.required}</Badge>}
        </th>
        <td>
            <UserText text={[row.type, ...row.limits].join(' · ')} />
            {row.description !== '' && (
                <p className="muted">
                    <UserText text={row.description} />
                </p>
            )}
        </td>
    </tr>
);

const Raw = ({ name, schema }: { name: string; schema: unknown }) => (
    <details className={styles.raw}>
        <summary>{name}</summary>
        <UserBlock text={JSON.stringify(schema, null, 2)} code />
    </details>
);
