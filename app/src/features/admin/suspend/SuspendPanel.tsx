// Where an agent is suspended: on its page. A suspended agent is in no list, so an address leads there as well.

import { isAddress } from '@solana/kit';
import { Link, useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';

import { Button } from '../../../shared/ui/Button';
import { TextField } from '../../../shared/ui/Field';
import { Panel } from '../../../shared/ui/Panel';
import styles from '../Admin.module.css';

export type SuspendPanelProps = { /** The guardian only suspends. */ mayResume: boolean };

export const SuspendPanel = ({ mayResume }: SuspendPanelProps) => (
    <Panel title={mayResume ? 'Suspend or resume an agent' : 'Suspend an agent'}>
        <p>
            You {mayResume ? 'suspend and resume' : 'suspend'} an agent on its page: its new calls are refused, and
            everything else goes on. <Link to="/">Find the agent in the list</Link>, or write its address. A suspended
            agent is in no list.
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
        if (!isAddress(agentId)) return setProblem('This is no address of an agent: 32 to 44 letters and digits.');
        void navigate({ to: '/agents/$agentId', params: { agentId } });
    };
    return (
        <form className={styles.lookup} onSubmit={submit} noValidate>
            <TextField
                label="Address of the agent"
                value={text}
                onChange={({ target }) => (setText(target.value), setProblem(undefined))}
                error={problem}
                autoComplete="off"
                spellCheck={false}
            />
            <Button type="submit">Open its page</Button>
        </form>
    );
}
