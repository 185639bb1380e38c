// Input and output schema, with the form that callers will see and the members of the result.

import { useDeferredValue, useMemo, useState } from 'react';

import type { Schemas } from '../../../shared/api/client';
import { SchemaTable } from '../../agent';
import { type JsonObject, ParametersForm, parametersDraft, planOf } from '../../run';
import type { FormProps } from './fields';
import styles from './Form.module.css';
import { SchemaEditor } from './SchemaEditor';
import { SchemaError, readSchema } from './schemaText';
import { words } from '../words';

export type SchemaSectionProps = FormProps & { network: Schemas['NetworkResponse'] };

export function SchemaSection({ fields, set, network: { limits } }: SchemaSectionProps) {
    const sizes = { maxBytes: limits.max_schema_bytes, maxDepth: limits.max_schema_depth };
    const input = useGoodSchema(fields.inputSchema);
    const output = useGoodSchema(fields.outputSchema);
    return (
        <div className="stack">
            <div className={styles.halves}>
                <SchemaEditor
                    label={words.schemaSection.input}
                    hint={words.schemaSection.inputHint}
                    text={fields.inputSchema}
                    example={INPUT_EXAMPLE}
                    limits={sizes}
                    onChange={(inputSchema) => set({ inputSchema })}
                />
                <section className={styles.preview} aria-label={words.schemaSection.preview}>
                    <p className="small muted">{words.schemaSection.previewHint}</p>
                    {input === null ? <NotReadable /> : <Preview key={fields.inputSchema} schema={input} />}
                </section>
            </div>
            <div className={styles.halves}>
                <SchemaEditor
                    label={words.schemaSection.output}
                    hint={words.schemaSection.outputHint}
                    text={fields.outputSchema}
                    example={OUTPUT_EXAMPLE}
                    limits={sizes}
                    onChange={(outputSchema) => set({ outputSchema })}
                />
                <div className={styles.preview}>
                    {output === null ? (
                        <NotReadable />
                    ) : (
                        <SchemaTable
                            id="output-preview"
                            title={words.schemaSection.returns}
                            schema={output}
                            none="Text without a promised structure."
                        />
                    )}
                </div>
            </div>
        </div>
    );
}

const NotReadable = () => <p className="muted">{words.schemaSection.noPreview}</p>;

function Preview({ schema }: { schema: JsonObject }) {
    const form = useMemo(() => planOf(schema), [schema]);
    const [draft, setDraft] = useState(() => parametersDraft(form));
    return <ParametersForm form={form} draft={draft} onChange={setDraft} problems={[]} />;
}

/** The schema, or `null`. Computed after the typing, which it must not slow down. */
function useGoodSchema(text: string): JsonObject | null {
    const settled = useDeferredValue(text);
    return useMemo(() => {
        try {
            return readSchema(settled);
        } catch (error) {
            if (error instanceof SchemaError) return null;
            throw error;
        }
    }, [settled]);
}

const INPUT_EXAMPLE = {
    type: 'object',
    required: ['language'],
    properties: {
        language: { type: 'string', enum: ['en', 'de', 'fr'], description: words.schemaSection.exampleLanguage },
        max_words: {
            type: 'integer',
            minimum: 1,
            maximum: 1000,
            default: 200,
            description: words.schemaSection.exampleLength,
        },
    },
    additionalProperties: false,
};

const OUTPUT_EXAMPLE = {
    type: 'object',
    required: ['summary'],
    properties: {
        summary: { type: 'string', description: words.schemaSection.exampleAnswer },
        sources: { type: 'array', items: { type: 'string' }, description: words.schemaSection.exampleSource },
    },
};
