// Labelled inputs. An error stands below its input and is announced with it.

import {
    type InputHTMLAttributes,
    type ReactNode,
    type SelectHTMLAttributes,
    type TextareaHTMLAttributes,
    useId,
} from 'react';

import styles from './Field.module.css';

type FieldProps = { label: string; hint?: string | undefined; error?: string | undefined };

type Wiring = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean | undefined };

/** What every kind of input shares: label, hint, error. */
function Field({ label, hint, error, children }: FieldProps & { children: (wiring: Wiring) => ReactNode }) {
    const id = useId();
    const remark = error ?? hint;
    return (
        <div className={styles.field}>
            <label htmlFor={id}>{label}</label>
            {children({
                id,
                'aria-describedby': remark === undefined ? undefined : `${id}-remark`,
                'aria-invalid': error === undefined ? undefined : true,
            })}
            {remark !== undefined && (
                <p id={`${id}-remark`} className={error === undefined ? styles.hint : styles.error}>
                    {remark}
                </p>
            )}
        </div>
    );
}

export const TextField = ({ label, hint, error, ...input }: FieldProps & InputHTMLAttributes<HTMLInputElement>) => (
    <Field label={label} hint={hint} error={error}>
        {(wiring) => <input type="text" dir="auto" {...input} {...wiring} className={styles.input} />}
    </Field>
);

export const TextArea = ({ label, hint, error, ...area }: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) => (
    <Field label={label} hint={hint} error={error}>
        {(wiring) => <textarea dir="auto" rows={4} {...area} {...wiring} className={styles.input} />}
    </Field>
);

export const Select = ({
    label,
    hint,
    error,
    children,
    ...select
}: FieldProps & SelectHTMLAttributes<HTMLSelectElement>) => (
    <Field label={label} hint={hint} error={error}>
        {(wiring) => (
            <select {...select} {...wiring} className={styles.input}>
                {children}
            </select>
        )}
    </Field>
);

export const Checkbox = ({ label, ...input }: { label: string } & InputHTMLAttributes<HTMLInputElement>) => (
    <label className={styles.check}>
        <input type="checkbox" {...input} />
        <span>{label}</span>
    </label>
);
