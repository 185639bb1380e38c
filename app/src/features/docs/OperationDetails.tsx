// One operation, unfolded: who may send it, what it takes, what it answers.

import { useMemo } from 'react';

import { type SchemaRow, SchemaRows, describe, schemaRows } from '../agent';
import { visible } from '../../shared/text/visible';
import { credentialWords } from './credential';
import styles from './Docs.module.css';
import { Prose, Words } from './Prose';
import { type Answer, type Parameter, grouped } from './reference';
import { formsOf, plainSchema } from './schema';
import { type DetailsProps, TryIt } from './TryIt';
import { apiWords as words } from './apiWords';

const w = words.operation;

const LIMITS = { rows: 400, choices: 60 };

export function OperationDetails({ operation, document, apiKey }: DetailsProps) {
    const { description, parameters, body, answers } = operation;
    return (
        <>
            <Prose text={description} />
            <p>
                <strong>{w.credential}</strong> {credentialWords(operation)}
            </p>
            {parameters.length > 0 && (
                <>
                    <h4>{w.parameters}</h4>
                    <Rows rows={parameters.map((parameter) => rowOf(parameter, document))} />
                </>
            )}
            {body !== null && (
                <>
                    <h4>
                        {w.body}
                        <code>{visible(body.type)}</code>
                    </h4>
                    <Schema schema={body.schema} document={document} />
                </>
            )}
            <h4>{w.tryIt}</h4>
            <TryIt operation={operation} document={document} apiKey={apiKey} />
            <h4>{w.answers}</h4>
            <dl className={styles.answers}>
                {answers.map(({ status, description: text, headers }) => (
                    <div key={status}>
                        <dt>{visible(status)}</dt>
                        <dd>
                            <Words text={text} />
                            {headers.length > 0 && (
                                <span className="muted small">{w.headers(visible(headers.join(', ')))}</span>
                            )}
                        </dd>
                    </div>
                ))}
            </dl>
            {bodiesOf(answers).map(({ statuses, schema }) => (
                <details key={statuses} className={styles.more} open={statuses.startsWith('2')}>
                    <summary>{w.bodyOf(visible(statuses))}</summary>
                    <div className="stack">
                        <Schema schema={schema} document={document} />
                    </div>
                </details>
            ))}
        </>
    );
}

const Rows = ({ rows }: { rows: readonly SchemaRow[] }) => (
    <SchemaRows rows={rows} prose={(text) => <Prose text={text} />} />
);

function rowOf({ name, place, required, description, schema, example }: Parameter, document: unknown): SchemaRow {
    const said = describe(plainSchema(schema, document), LIMITS);
    return {
        path: `${place} ${name}`,
        name,
        depth: 0,
        required,
        type: `${place} · ${said.type}`,
        limits: [...said.limits, ...(example === '' ? [] : [w.example(example)])],
        description: description || said.description,
    };
}

/** Each body once, with the statuses that have it: most errors have the same. */
function bodiesOf(answers: readonly Answer[]): { statuses: string; schema: unknown }[] {
    const known = answers.filter(({ schema }) => schema !== undefined);
    const groups = grouped(known, ({ schema }) =>
        typeof schema === 'object' && schema !== null && '$ref' in schema ? schema.$ref : schema,
    );
    return groups.map(([, group]) => ({
        statuses: group.map(({ status }) => status).join(', '),
        schema: group[0]?.schema,
    }));
}

function Schema({ schema, document }: { schema: unknown; document: unknown }) {
    const forms = useMemo(
        () => formsOf(schema, document).map((form) => ({ ...describe(form, LIMITS), ...schemaRows(form, LIMITS) })),
        [schema, document],
    );
    return forms.map(({ type, limits, description, rows, more }, index) => (
        <div key={index} className="stack">
            {forms.length > 1 && <h5>{index === 0 ? w.either : w.another}</h5>}
            {rows.length === 0 && <p className="small muted">{visible([type, ...limits].join(' · '))}</p>}
            <Prose text={description} />
            {rows.length > 0 && <Rows rows={rows} />}
            {more && <p className="muted small">{w.more}</p>}
        </div>
    ));
}
