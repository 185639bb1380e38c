// A new webhook: a URL, and which events are sent there. In the tab of an agent it hears of this agent alone.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';

import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { TextField } from '../../shared/ui/Field';
import { create } from './query';
import { Secret } from './Secret';
import styles from './Webhooks.module.css';
import { words } from './words';

const w = words.create;

export function NewWebhook({ account, agentId }: { account: string; agentId?: string | undefined }) {
    const queries = useQueryClient();
    const [url, setUrl] = useState('');
    const [types, setTypes] = useState('');
    const creating = useMutation({
        mutationFn: () =>
            create(account, {
                url: url.trim(),
                types: types.split(/[\s,]+/).filter(Boolean),
                agents: agentId === undefined ? [] : [agentId],
            }),
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
            <h2 id="new-webhook">{agentId === undefined ? w.title : w.ofAgent}</h2>
            {agentId !== undefined && <p className="muted">{w.onlyOfAgent}</p>}
            <form className={styles.fields} onSubmit={submit} noValidate>
                <TextField
                    label={w.url}
                    type="url"
                    autoComplete="off"
                    placeholder="https://example.com/crtx"
                    value={url}
                    hint={w.urlHint}
                    onChange={(event) => setUrl(event.target.value)}
                />
                <TextField
                    label={w.types}
                    autoComplete="off"
                    placeholder="payout, dispute.opened"
                    value={types}
                    hint={w.typesHint}
                    onChange={(event) => setTypes(event.target.value)}
                />
                <div className="row">
                    <Button type="submit" look="primary" isDisabled={url.trim() === ''}>
                        {creating.isPending ? words.underWay : w.submit}
                    </Button>
                </div>
            </form>
            {creating.error && <Failure error={creating.error} />}
            {creating.data && <Secret secret={creating.data.secret}>{w.secret}</Secret>}
        </section>
    );
}
