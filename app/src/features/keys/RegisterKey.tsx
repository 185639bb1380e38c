// Registers a key of a grant that nobody has registered. The user types the key; it is used for the proof and then
// forgotten.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';

import { nameProblem } from '../../shared/text/plain';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { TextField } from '../../shared/ui/Field';
import type { PanelProps } from './panel';
import styles from './Keys.module.css';
import { MAX_NAME_CHARS, register } from './query';
import { registrationOf } from './secret';
import { words } from './words';

const t = words.registration;

export function RegisterKey({ apiKey, account, onSaid, onClose }: PanelProps) {
    const queries = useQueryClient();
    const [name, setName] = useState('');
    const [text, setText] = useState('');
    const [isChecked, setChecked] = useState(false);
    const registering = useMutation({
        mutationFn: async () => {
            const registration = await registrationOf(text.trim(), apiKey.prefix, account);
            if (registration.sessionKey !== apiKey.session_public_key) throw new Error(t.otherKey);
            await register({ wallet: account, name, ...registration });
        },
        onSuccess: async () => {
            setText('');
            await queries.invalidateQueries({ queryKey: ['keys', account] });
            onSaid(t.done(name));
            onClose();
        },
    });
    const wrongName = nameProblem(name, MAX_NAME_CHARS);
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        setChecked(true);
        if (wrongName === undefined && text !== '' && !registering.isPending) registering.mutate();
    };
    return (
        <form className={`${styles.panel} ${styles.fields}`} onSubmit={submit} noValidate autoComplete="off">
            <TextField
                label={words.name}
                maxLength={2 * MAX_NAME_CHARS}
                value={name}
                error={isChecked ? wrongName : undefined}
                onChange={(event) => setName(event.target.value)}
            />
            <TextField
                label={t.key}
                type="password"
                autoComplete="off"
                placeholder={`${apiKey.prefix}…`}
                value={text}
                error={isChecked && text === '' ? t.noKey : undefined}
                hint={t.keyHint}
                onChange={(event) => setText(event.target.value)}
            />
            <div className="row">
                <Button type="submit">{registering.isPending ? t.registering : t.register}</Button>
                <Button look="quiet" onPress={onClose}>
                    {words.cancel}
                </Button>
            </div>
            {registering.error && <Failure error={registering.error} />}
        </form>
    );
}
