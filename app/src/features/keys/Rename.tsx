// Another name for a key. The service keeps it; nothing is signed.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';

import { nameProblem } from '../../shared/text/plain';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { TextField } from '../../shared/ui/Field';
import type { PanelProps } from './panel';
import styles from './Keys.module.css';
import { MAX_NAME_CHARS, rename } from './query';
import { words } from './words';

const t = words.renaming;

export function Rename({ apiKey, account, onSaid, onClose }: PanelProps) {
    const queries = useQueryClient();
    const [name, setName] = useState(apiKey.name ?? '');
    const renaming = useMutation({
        mutationFn: () => rename(account, apiKey.session_public_key, name),
        onSuccess: async () => {
            await queries.invalidateQueries({ queryKey: ['keys', account] });
            onSaid(t.done(name));
            onClose();
        },
    });
    const problem = name === apiKey.name ? undefined : nameProblem(name, MAX_NAME_CHARS);
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        if (problem === undefined && name !== apiKey.name && !renaming.isPending) renaming.mutate();
    };
    return (
        <form className={`${styles.panel} ${styles.fields}`} onSubmit={submit} noValidate>
            <TextField
                label={t.name}
                autoComplete="off"
                maxLength={2 * MAX_NAME_CHARS}
                value={name}
                error={problem}
                hint={t.hint}
                onChange={(event) => setName(event.target.value)}
            />
            <div className="row">
                <Button type="submit" isDisabled={problem !== undefined || name === apiKey.name}>
                    {renaming.isPending ? t.saving : t.save}
                </Button>
                <Button look="quiet" onPress={onClose}>
                    {words.cancel}
                </Button>
            </div>
            {renaming.error && <Failure error={renaming.error} />}
        </form>
    );
}
