// The fields of a statement: a text, and up to five files. Problems are said before anything is handed in.

import { type ChangeEvent, useId, useRef } from 'react';

import { UserText } from '../../../shared/text/UserText';
import { visible } from '../../../shared/text/visible';
import { Button } from '../../../shared/ui/Button';
import { TextArea } from '../../../shared/ui/Field';
import { MAX_FILES, MAX_FILE_BYTES, type Draft, filesProblem, sizeOf, sizeText, textProblem, withFiles } from './draft';
import { words } from '../words';
import styles from './Evidence.module.css';

const t = words.evidence;

export type EvidenceFormProps = {
    /** Of the text. */
    label: string;
    hint: string;
    draft: Draft;
    onChange: (draft: Draft) => void;
    /** The user has tried to go on: what is missing is said too. */
    isChecked: boolean;
    isDisabled: boolean;
};

export function EvidenceForm({ label, hint, draft, onChange, isChecked, isDisabled }: EvidenceFormProps) {
    const problem = textProblem(draft.text);
    const isShown = isChecked || (draft.text !== '' && draft.text.trim() !== '');
    return (
        <>
            <TextArea
                label={label}
                hint={hint}
                error={isShown ? problem : undefined}
                rows={7}
                value={draft.text}
                disabled={isDisabled}
                onChange={(event) => onChange({ ...draft, text: event.target.value })}
            />
            <Files draft={draft} onChange={onChange} isDisabled={isDisabled} />
        </>
    );
}

function Files({ draft, onChange, isDisabled }: Pick<EvidenceFormProps, 'draft' | 'onChange' | 'isDisabled'>) {
    const id = useId();
    const input = useRef<HTMLInputElement>(null);
    const problem = filesProblem(draft.files);
    const add = (event: ChangeEvent<HTMLInputElement>): void => {
        onChange(withFiles(draft, [...(event.target.files ?? [])]));
        // The same file can be chosen again after it was removed.
        event.target.value = '';
    };
    const remove = (index: number): void => {
        onChange({ ...draft, files: draft.files.filter((_, other) => other !== index) });
        input.current?.focus();
    };
    return (
        <div className={styles.files}>
            <label htmlFor={id}>{t.files}</label>
            <input
                ref={input}
                id={id}
                type="file"
                multiple
                className={styles.input}
                disabled={isDisabled}
                aria-describedby={`${id}-remark`}
                aria-invalid={problem === undefined ? undefined : true}
                onChange={add}
            />
            <p id={`${id}-remark`} className={problem === undefined ? styles.hint : styles.problem} aria-live="polite">
                {problem ?? filesText(draft)}
            </p>
            {draft.files.length > 0 && (
                <ul className={styles.list} aria-label={t.chosen}>
                    {draft.files.map(({ name, file }, index) => (
                        <li key={name}>
                            <span className={styles.name}>
                                <UserText text={name} />
                            </span>
                            <span className="muted small number">{sizeText(file.size)}</span>
                            <Button
                                look="text"
                                isDisabled={isDisabled}
                                onPress={() => remove(index)}
                                aria-label={t.removeFile(visible(name))}
                            >
                                {t.remove}
                            </Button>
                        </li>
                    ))}
                </ul>
            )}
        </div>
    );
}

const filesText = ({ files }: Draft): string =>
    files.length === 0
        ? t.most(MAX_FILES, sizeText(MAX_FILE_BYTES))
        : t.used(files.length, MAX_FILES, sizeText(sizeOf(files)), sizeText(MAX_FILE_BYTES));
