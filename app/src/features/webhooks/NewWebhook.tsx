// A new webhook: a URL, and which events are sent there.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';

import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { TextField } from '../../shared/ui/Field';
import { create } from './query';
import { Secret } from './Secret';
import styles from './Webhooks.module.css';

export function NewWebhook({ account }: { account: string }) {
    const queries = useQueryClient();
    const [url, setUrl] = useState('');
    const [types, setTypes] = useState('');
    const creating = useMutation({
        mutationFn: () => create(account, url.trim(), types.split(/[\s,]+/).filter(Boolean)),
        onSuccess: async () => {
            setUrl('');
            await queries.invalidateQueries({ queryKey: ['webhooks', account] });
        },
    });
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        if (url.trim() !== '' && !creating.isPending) creating.mutate();
    };
    return (
        <section className="stack" aria-labelledby="new-webhook">
            <h2 id="new-webhook">New webhook</h2>
            <form className={styles.fields} onSubmit={submit} noValidate>
                <TextField
                    label="URL"
                    type="url"
                    autoComplete="off"
                    placeholder="https://example.com/crtx"
                    value={url}
                    hint="https, on a public address"
                    onChange={(event) => setUrl(event.target.value)}
                />
                <TextField
                    label="Types of events"
                    autoComplete="off"
                    placeholder="payout, dispute.opened"
                    value={types}
                    hint="With commas between them. Leave it empty for all."
                    onChange={(event) => setTypes(event.target.value)}
                />
                <div className="row">
                    <Button type="submit" look="primary" isDisabled={url.trim() === ''}>
                        {creating.isPending ? 'Under way …' : 'Make the webhook'}
                    </Button>
                </div>
            </form>
            {creating.error && <Failure error={creating.error} />}
            {creating.data && <Secret secret={creating.data.secret}>The target checks signatures with it.</Secret>}
        </section>
    );
}
