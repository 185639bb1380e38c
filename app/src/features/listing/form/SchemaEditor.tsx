// A JSON Schema as text, with what is wrong with it said while it is written.

import { useId, useRef } from 'react';

import { Button } from '../../../shared/ui/Button';
import { TextArea } from '../../../shared/ui/Field';
import styles from './Form.module.css';
import { SchemaError, readSchema } from './schemaText';
import { words } from '../words';

const CODE = { fontFamily: 'var(--mono)', fontSize: '0.875em' };

export type SchemaEditorProps = {
    label: string;
    hint: string;
    text: string;
    /** A schema to begin with. */
    example: object;
    limits: { maxBytes: number; maxDepth: number };
    onChange: (text: string) => void;
};

export function SchemaEditor({ label, hint, text, example, limits, onChange }: SchemaEditorProps) {
    const file = useRef<HTMLInputElement>(null);
    const status = useId();
    const problem = problemOf(text, limits);
    const load = async (chosen: File | undefined): Promise<void> => {
        // A larger file is no schema that could be listed.
        if (chosen !== undefined) onChange(chosen.size > limits.maxBytes * 2 ? '' : await chosen.text());
    };
    return (
        <div className="stack">
            <TextArea
                label={label}
                hint={hint}
                error={problem ?? undefined}
                value={text}
                onChange={({ target }) => onChange(target.value)}
                rows={14}
                dir="ltr"
                spellCheck={false}
                autoCapitalize="none"
                style={CODE}
            />
            <p id={status} aria-live="polite" className="visually-hidden">
                {problem === null ? words.schemaEditor.accepted(label) : ''}
            </p>
            <div className={styles.tools}>
                <Button
                    onPress={() => onChange(formatted(text))}
                    isDisabled={problem !== null}
                    aria-label={words.schemaEditor.formatLabel(label.toLowerCase())}
                >
                    {words.schemaEditor.format}
                </Button>
                <Button
                    onPress={() => file.current?.click()}
                    aria-label={words.schemaEditor.openLabel(label.toLowerCase())}
                >
                    {words.schemaEditor.open}
                </Button>
                <input
                    ref={file}
                    type="file"
                    accept=".json,application/json"
                    hidden
                    onChange={({ target }) => {
                        void load(target.files?.[0]);
                        // The same file can be chosen again.
                        target.value = '';
                    }}
                />
                <Button
                    onPress={() => onChange(JSON.stringify(example, null, 2))}
                    aria-label={words.schemaEditor.exampleLabel(label.toLowerCase())}
                >
                    {words.schemaEditor.example}
                </Button>
            </div>
        </div>
    );
}

function problemOf(text: string, limits: SchemaEditorProps['limits']): string | null {
    try {
        readSchema(text, limits);
        return null;
    } catch (error) {
        if (error instanceof SchemaError) return error.message;
        throw error;
    }
}

const formatted = (text: string): string => JSON.stringify(JSON.parse(text), null, 2);
