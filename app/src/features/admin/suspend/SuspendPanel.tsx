// Where an agent is suspended: on its page. A suspended agent is in no list, so an address leads there as well.

import { isAddress } from '@solana/kit';
import { Link, useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';

import { Button } from '../../../shared/ui/Button';
import { TextField } from '../../../shared/ui/Field';
import { Panel } from '../../../shared/ui/Panel';
import styles from '../Admin.module.css';
import { words } from '../words';

export type SuspendPanelProps = { /** The guardian only suspends. */ mayResume: boolean };

export const SuspendPanel = ({ mayResume }: SuspendPanelProps) => (
    <Panel title={mayResume ? words.suspendPanel.titleAdmin : words.suspendPanel.title}>
        <p>
            {words.suspendPanel.you} {mayResume ? 'suspend and resume' : 'suspend'} {words.suspendPanel.about}{' '}
            <Link to="/">{words.suspendPanel.find}</Link>
            {words.suspendPanel.orAddress}
        </p>
        <Lookup />
    </Panel>
);

function Lookup() {
    const [text, setText] = useState('');
    const [problem, setProblem] = useState<string | undefined>();
    const navigate = useNavigate();
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        const agentId = text.trim();
        if (!isAddress(agentId)) return setProblem(words.suspendPanel.badAddress);
        void navigate({ to: '/agents/$agentId', params: { agentId } });
    };
    return (
        <form className={styles.lookup} onSubmit={submit} noValidate>
            <TextField
                label={words.suspendPanel.address}
                value={text}
                onChange={({ target }) => (setText(target.value), setProblem(undefined))}
                error={problem}
                autoComplete="off"
                spellCheck={false}
            />
            <Button type="submit">{words.suspendPanel.open}</Button>
        </form>
    );
}
