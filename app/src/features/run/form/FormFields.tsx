// The fields of a form. Every text of the schema is a stranger's and is shown as text.

import { useId } from 'react';

import { UserText } from '../../../shared/text/UserText';
import { visible } from '../../../shared/text/visible';
import { Button } from '../../../shared/ui/Button';
import { type Draft, MAX_ENTRIES, type Problem, emptyDraft, listed, pointerTo } from './draft';
import styles from './Form.module.css';
import { words } from '../words';
import type { Field, Group, Option } from './plan';

export type FieldsProps = {
    field: Field;
    draft: Draft;
    onChange: (draft: Draft) => void;
    problems: readonly Problem[];
    /** JSON pointer of this value in the parameters. */
    at: string;
};

type LabelledProps = FieldsProps & { label: string; required: boolean };

/** The members of a group, one under the other. */
export function GroupFields({ field, draft, onChange, problems, at }: FieldsProps & { field: Group }) {
    const drafts = listed(draft);
    const change = (index: number, changed: Draft): void =>
        onChange(
            field.members.map((member, at) => (at === index ? changed : (drafts[at] ?? emptyDraft(member.field)))),
        );
    return field.members.map(({ name, required, field: member }, index) => (
        <LabelledField
            key={name}
            field={member}
            label={member.title ?? name}
            required={required}
            draft={drafts[index] ?? ''}
            onChange={(changed) => change(index, changed)}
            problems={problems}
            at={pointerTo(at, name)}
        />
    ));
}

function LabelledField(props: LabelledProps) {
    const { field } = props;
    if (field.kind === 'group') return <Fieldset {...props} />;
    return field.kind === 'list' ? <ListField {...props} field={field} /> : <PlainField {...props} />;
}

const Fieldset = (props: LabelledProps) => (
    <fieldset className={styles.group}>
        <legend>
            <Label {...props} />
        </legend>
        <Description field={props.field} />
        <Problems {...props} />
        {props.field.kind === 'group' && <GroupFields {...props} field={props.field} />}
    </fieldset>
);

function ListField(props: LabelledProps & { field: Extract<Field, { kind: 'list' }> }) {
    const { field, draft, onChange, at, problems, label } = props;
    const entries = listed(draft);
    return (
        <fieldset className={styles.group}>
            <legend>
                <Label {...props} />
            </legend>
            <Description field={field} />
            <Problems {...props} />
            {entries.map((entry, index) => (
                <div key={index} className={styles.entry}>
                    <LabelledField
                        field={field.item}
                        label={`${field.item.title ?? words.entry} ${index + 1}`}
                        required
                        draft={entry}
                        onChange={(changed) => onChange(entries.map((other, at) => (at === index ? changed : other)))}
                        problems={problems}
                        at={pointerTo(at, index)}
                    />
                    <Button
                        aria-label={words.removeEntry(index + 1, visible(label))}
                        onPress={() => onChange(entries.filter((_, at) => at !== index))}
                    >
                        {words.remove}
                    </Button>
                </div>
            ))}
            <p>
                <Button
                    isDisabled={entries.length >= MAX_ENTRIES}
                    aria-label={words.addEntryTo(visible(label))}
                    onPress={() => onChange([...entries, emptyDraft(field.item)])}
                >
                    {words.addEntry}
                </Button>
            </p>
        </fieldset>
    );
}

function PlainField(props: LabelledProps) {
    const { field, draft, onChange, at, problems } = props;
    const id = useId();
    const own = problems.filter((problem) => problem.at === at);
    const input = {
        id,
        value: typeof draft === 'string' ? draft : '',
        'data-at': at,
        'aria-invalid': own.length > 0,
        'aria-required': props.required,
        'aria-describedby': `${id}-about ${id}-problem`,
        onChange: (event: { target: { value: string } }) => onChange(event.target.value),
    };
    return (
        <div className={styles.field}>
            <label htmlFor={id}>
                <Label {...props} />
            </label>
            <div id={`${id}-about`}>
                <Description field={field} />
                {field.kind === 'json' && <p className="small muted">{words.jsonField}</p>}
            </div>
            <Input field={field} input={input} />
            <div id={`${id}-problem`}>
                <Problems {...props} />
            </div>
        </div>
    );
}

type InputProps = {
    field: Field;
    input: { id: string; value: string; onChange: (event: { target: { value: string } }) => void };
};

function Input({ field, input }: InputProps) {
    switch (field.kind) {
        case 'choice':
            return (
                <Select
                    input={input}
                    options={field.options.map((option, index) => [String(index), option] as const)}
                />
            );
        case 'flag':
            return <Select input={input} options={FLAGS} />;
        case 'number':
            return (
                <input
                    {...input}
                    className={styles.input}
                    inputMode={field.whole ? 'numeric' : 'decimal'}
                    autoComplete="off"
                />
            );
        case 'json':
            return <textarea {...input} className={`${styles.input} mono`} rows={4} spellCheck={false} />;
        default:
            return field.kind === 'text' && field.long ? (
                <textarea {...input} className={styles.input} rows={2} dir="auto" />
            ) : (
                <input {...input} className={styles.input} dir="auto" autoComplete="off" />
            );
    }
}

const FLAGS = [
    ['true', { value: true, label: words.yes }],
    ['false', { value: false, label: words.no }],
] as const;

const Select = ({
    input,
    options,
}: {
    input: InputProps['input'];
    options: readonly (readonly [string, Option])[];
}) => (
    <select {...input} className={styles.input}>
        <option value="">{'\u2013'}</option>
        {options.map(([value, { label }]) => (
            <option key={value} value={value}>
                {visible(label)}
            </option>
        ))}
    </select>
);

const Label = ({ label, required }: { label: string; required: boolean }) => (
    <span className={styles.label}>
        <UserText text={label} />
        {!required && <span className="small muted"> {words.optional}</span>}
    </span>
);

const Description = ({ field }: { field: Field }) =>
    field.description === null ? null : (
        <p className="small muted">
            <UserText text={field.description} />
        </p>
    );

const Problems = ({ problems, at }: { problems: readonly Problem[]; at: string }) =>
    problems
        .filter((problem) => problem.at === at)
        .map(({ message }) => (
            <p key={message} className={styles.problem}>
                <UserText text={message} />
            </p>
        ));
