// The parameters of a call, as fields or as JSON. Both show the same problems.

import { UserText } from '../../../shared/text/UserText';
import { Button } from '../../../shared/ui/Button';
import { type Problem, draftOf, readForm } from './draft';
import { GroupFields } from './FormFields';
import styles from './Form.module.css';
import { JsonError, isObject, readJson } from './json';
import type { Group } from './plan';
import type { ParametersDraft } from './parameters';
import { words } from '../words';

export type ParametersFormProps = {
    form: Group | null;
    draft: ParametersDraft;
    onChange: (draft: ParametersDraft) => void;
    problems: readonly Problem[];
};

export function ParametersForm({ form, draft, onChange, problems }: ParametersFormProps) {
    const asJson = (): void => {
        if (form === null || draft.as === 'json') return;
        onChange({ as: 'json', text: JSON.stringify(readForm(form, draft.draft).parameters, null, 2) });
    };
    return (
        <section className={styles.form} aria-labelledby="parameters">
            <div className={styles.heading}>
                <h2 id="parameters">{words.parameters}</h2>
                {form !== null && form.members.length > 0 && (
                    <Button
                        look="text"
                        onPress={() => (draft.as === 'json' ? backToForm(form, draft.text, onChange) : asJson())}
                    >
                        {draft.as === 'json' ? words.showFields : words.editJson}
                    </Button>
                )}
            </div>
            {draft.as === 'json' ? (
                <JsonEditor
                    text={draft.text}
                    note={draft.note}
                    onChange={(text) => onChange({ as: 'json', text })}
                    problems={problems}
                />
            ) : form === null || form.members.length === 0 ? (
                <p className="muted">{words.noParameters}</p>
            ) : (
                <GroupFields
                    field={form}
                    draft={draft.draft}
                    onChange={(changed) => onChange({ as: 'fields', draft: changed })}
                    problems={problems}
                    at=""
                />
            )}
        </section>
    );
}

/** What the fields cannot hold stays JSON. */
function backToForm(form: Group, text: string, onChange: ParametersFormProps['onChange']): void {
    try {
        const value = readJson(text);
        const draft = isObject(value) ? draftOf(form, value) : null;
        onChange(draft === null ? { as: 'json', text, note: words.noFields } : { as: 'fields', draft });
    } catch (error) {
        if (!(error instanceof JsonError)) throw error;
        onChange({ as: 'json', text, note: error.message });
    }
}

type JsonEditorProps = {
    text: string;
    note: string | undefined;
    onChange: (text: string) => void;
    problems: readonly Problem[];
};

const JsonEditor = ({ text, note, onChange, problems }: JsonEditorProps) => (
    <div className={styles.field}>
        <label htmlFor="parameters-json" className={styles.label}>
            {words.json}
        </label>
        <textarea
            id="parameters-json"
            className={`${styles.input} mono`}
            rows={10}
            spellCheck={false}
            data-at=""
            aria-invalid={problems.length > 0}
            aria-describedby="parameters-problems"
            value={text}
            onChange={(event) => onChange(event.target.value)}
        />
        <div id="parameters-problems">
            {note !== undefined && <p className="small muted">{note}</p>}
            {problems.map(({ at, message }) => (
                <p key={`${at} ${message}`} className={styles.problem}>
                    {at !== '' && (
                        <>
                            <UserText text={at} />:{' '}
                        </>
                    )}
                    <UserText text={message} />
                </p>
            ))}
        </div>
    </div>
);
