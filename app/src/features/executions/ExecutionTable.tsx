// Executions as rows: when, which agent, how it went, what it cost, and the way to each.

import { Link } from '@tanstack/react-router';

import { formatMs } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import { Badge, type BadgeProps } from '../../shared/ui/Badge';
import { type Column, Table } from '../../shared/ui/Table';
import { ExactTime } from '../../shared/ui/ExactTime';
import { type ListedExecution, isUnderWay } from './query';
import { STATUSES, type Status } from './search';

const KINDS: Record<Status, NonNullable<BadgeProps['kind']>> = {
    pending: 'plain',
    running: 'accent',
    completed: 'good',
    failed: 'bad',
    disputed: 'warn',
};

const COLUMNS: readonly Column<ListedExecution>[] = [
    { name: 'Started', cell: ({ initiated_at }) => <ExactTime at={initiated_at} /> },
    {
        name: 'Agent',
        cell: ({ agent_id, agent_name }) => (
            <Link to="/agents/$agentId" params={{ agentId: agent_id }}>
                <UserText text={agent_name} />
            </Link>
        ),
    },
    {
        name: 'State',
        cell: ({ status }) => (
            <span>
                <Badge kind={KINDS[status]}>{STATUSES[status]}</Badge>
            </span>
        ),
    },
    { name: 'Took', cell: (execution) => tookText(execution), isNumber: true },
    { name: 'Cost (USDC)', cell: ({ cost_usdc }) => formatUsdc(cost_usdc), isNumber: true },
];

/** The page of an execution, with its result, is its caller's. */
const CALLERS: Column<ListedExecution> = {
    name: 'Execution',
    cell: ({ execution_id: executionId }) => (
        <Link to="/executions/$executionId" params={{ executionId }} className="mono">
            <span className="visually-hidden">Open </span>
            {short(executionId, 6)}
        </Link>
    ),
};

/** A creator sees what is on the chain. */
const CREATORS: Column<ListedExecution> = {
    name: 'Record',
    cell: ({ execution_id, on_chain_record }) => (
        <a
            href={on_chain_record}
            target="_blank"
            rel="noreferrer"
            className="mono"
            aria-label={`Record of ${short(execution_id, 6)} in the explorer`}
        >
            {short(execution_id, 6)}
        </a>
    ),
};

export const ExecutionTable = ({
    executions,
    role,
}: {
    executions: readonly ListedExecution[];
    role: 'caller' | 'creator';
}) => (
    <Table
        caption={
            role === 'caller'
                ? 'Executions that this wallet paid for, newest first'
                : 'Executions of the agents of this wallet, newest first'
        }
        columns={[role === 'caller' ? CALLERS : CREATORS, ...COLUMNS]}
        rows={executions}
        rowKey={({ execution_id, on_chain_record }) => `${execution_id} ${on_chain_record}`}
    />
);

function tookText(execution: ListedExecution): string {
    const { initiated_at, completed_at } = execution;
    if (completed_at === null) return isUnderWay(execution) ? 'under way' : '–';
    return formatMs(Math.max(0, new Date(completed_at).getTime() - new Date(initiated_at).getTime()));
}
