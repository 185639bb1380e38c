// The tags of an agent: the standard ones to choose from, and the creator's own.

import { type KeyboardEvent, useId, useState } from 'react';

import { Button } from '../../../shared/ui/Button';
import { Checkbox, TextField } from '../../../shared/ui/Field';
import { UserText } from '../../../shared/text/UserText';
import { visible } from '../../../shared/text/visible';
import { TAG } from './rules';
import styles from './Form.module.css';
import { words } from '../words';

export type TagsProps = {
    chosen: readonly string[];
    standard: readonly string[];
    most: number;
    error: string | undefined;
    onChange: (chosen: readonly string[]) => void;
};

export function TagsField({ chosen, standard, most, error, onChange }: TagsProps) {
    const id = useId();
    const [own, setOwn] = useState('');
    const [problem, setProblem] = useState<string | undefined>(undefined);
    const isFull = chosen.length >= most;
    const add = (): void => {
        const tag = own.trim().toLowerCase();
        const wrong = wrongTag(tag, chosen, isFull, most);
        setProblem(wrong);
        if (wrong !== undefined) return;
        onChange([...chosen, tag]);
        setOwn('');
    };
    const addOnEnter = (event: KeyboardEvent): void => {
        if (event.key !== 'Enter') return;
        // Enter belongs to this input here, not to the form around it.
        event.preventDefault();
        add();
    };
    return (
        <fieldset
            className={styles.group}
            aria-describedby={`${id}-remark`}
            data-invalid={error !== undefined || undefined}
            tabIndex={-1}
        >
            <legend>{words.tagsField.tags}</legend>
            <p id={`${id}-remark`} className={error === undefined ? styles.hint : styles.error}>
                {error ?? words.tagsField.hint(chosen.length, most)}
            </p>
            <div className={styles.choices}>
                {standard.map((tag) => (
                    <Checkbox
                        key={tag}
                        label={visible(tag)}
                        checked={chosen.includes(tag)}
                        disabled={isFull && !chosen.includes(tag)}
                        onChange={({ target }) =>
                            onChange(target.checked ? [...chosen, tag] : chosen.filter((other) => other !== tag))
                        }
                    />
                ))}
            </div>
            <div className={styles.adding}>
                <TextField
                    label={words.tagsField.own}
                    error={problem}
                    value={own}
                    onChange={({ target }) => (setOwn(target.value), setProblem(undefined))}
                    onKeyDown={addOnEnter}
                    autoComplete="off"
                    autoCapitalize="none"
                />
                <Button onPress={add} isDisabled={own.trim() === ''}>
                    {words.tagsField.add}
                </Button>
            </div>
            <ul className={styles.chosen} aria-label={words.tagsField.ownList}>
                {chosen
                    .filter((tag) => !standard.includes(tag))
                    .map((tag) => (
                        <li key={tag}>
                            <UserText text={tag} />
                            <Button
                                look="text"
                                aria-label={words.tagsField.removeTag(visible(tag))}
                                onPress={() => onChange(chosen.filter((other) => other !== tag))}
                            >
                                {words.tagsField.remove}
                            </Button>
                        </li>
                    ))}
            </ul>
        </fieldset>
    );
}

function wrongTag(tag: string, chosen: readonly string[], isFull: boolean, most: number): string | undefined {
    if (!TAG.test(tag)) return words.tagsField.badTag;
    if (chosen.includes(tag)) return words.tagsField.chosen;
    return isFull ? words.tagsField.tooMany(most) : undefined;
}
