// The two cells of an execution that lead on: to the execution itself, and to its agent.

import { Link } from '@tanstack/react-router';

import { accountLinkOf, useNetwork } from '../../shared/explorer';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import styles from './Executions.module.css';
import type { ListedExecution } from './query';
import { words } from './words';

/** The year says itself while it is this one. */
const FORMATS = {
    thisYear: new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }),
    before: new Intl.DateTimeFormat('en-GB', {
        day: 'numeric',
        month: 'short',
        year: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
    }),
};

const Moment = ({ at }: { at: string }) => {
    const date = new Date(at);
    const format = date.getFullYear() === new Date().getFullYear() ? FORMATS.thisYear : FORMATS.before;
    return (
        <time className={`${styles.whole} number`} dateTime={at} title={at}>
            {format.format(date)}
        </time>
    );
};

/** The page of an execution, with its result, is its caller's. A creator sees what is on the chain. */
export function Started({ execution, role }: { execution: ListedExecution; role: 'caller' | 'creator' }) {
    const { execution_id: executionId, initiated_at: at, on_chain_record: record } = execution;
    const id = short(executionId, 6);
    if (role === 'caller') {
        return (
            <Link to="/executions/$executionId" params={{ executionId }} data-row>
                <span className="visually-hidden">{words.openExecution(id)} </span>
                <Moment at={at} />
            </Link>
        );
    }
    return <RecordLink record={record} id={id} at={at} />;
}

function RecordLink({ record, id, at }: { record: string; id: string; at: string }) {
    const network = useNetwork();
    return (
        <a
            href={accountLinkOf(network, record)}
            target="_blank"
            rel="noreferrer"
            aria-label={words.recordInExplorer(id)}
        >
            <Moment at={at} />
        </a>
    );
}

export const AgentLink = ({ execution: { agent_id: agentId, agent_name: name } }: { execution: ListedExecution }) => (
    <Link to="/agents/$agentId" params={{ agentId }}>
        <UserText text={name} />
    </Link>
);
