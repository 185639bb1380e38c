// Executions as rows: when, which agent, what for, how it went, who paid and how much. A row leads to its execution.

import { formatMs } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { StatusBadge } from '../../shared/ui/StatusBadge';
import { type Column, Table } from '../../shared/ui/Table';
import { AgentLink, Started } from './cells';
import styles from './Executions.module.css';
import { KeyName } from './KeyName';
import type { KeyNames } from './keyNames';
import { type ListedExecution, isUnderWay } from './query';
import { words } from './words';

export type ExecutionTableProps = {
    executions: readonly ListedExecution[];
    role: 'caller' | 'creator';
    names: KeyNames | undefined;
    /** Beginnings of tasks, by the id of the execution. */
    tasks: ReadonlyMap<string, string>;
};

export function ExecutionTable({ executions, role, names, tasks }: ExecutionTableProps) {
    const { columns } = words;
    const isCaller = role === 'caller';
    const started: Column<ListedExecution> = {
        name: columns.started,
        cell: (execution) => <Started execution={execution} role={role} />,
        place: 'second',
    };
    const agent: Column<ListedExecution> = {
        name: columns.agent,
        cell: (execution) => <AgentLink execution={execution} />,
        place: 'start',
    };
    const task: Column<ListedExecution> = {
        name: columns.task,
        cell: ({ execution_id: id }) => tasks.has(id) && <TaskText text={tasks.get(id) ?? ''} />,
    };
    /** A phone has room for one of them. */
    const about: Column<ListedExecution> = {
        name: columns.about,
        cell: ({ execution_id: id, failure }) => reasonOf(failure) ?? <UserText text={tasks.get(id) ?? ''} />,
        place: 'rest',
        isNarrow: true,
    };
    const status: Column<ListedExecution> = {
        name: columns.status,
        cell: (execution) => <StatusCell execution={execution} />,
        place: 'second',
    };
    const key: Column<ListedExecution> = {
        name: columns.key,
        cell: ({ session_public_key }) => <KeyName sessionKey={session_public_key} names={names} />,
    };
    const took: Column<ListedExecution> = { name: columns.took, cell: tookText, isNumber: true };
    const amount: Column<ListedExecution> = {
        name: isCaller ? columns.cost : columns.earned,
        cell: ({ cost_usdc, creator_amount_usdc }) => formatUsdc(isCaller ? cost_usdc : creator_amount_usdc),
        isNumber: true,
        place: 'end',
    };
    const hasTasks = executions.some(({ execution_id: id }) => tasks.has(id));
    return (
        <Table
            caption={isCaller ? words.callerCaption : words.creatorCaption}
            columns={[
                started,
                agent,
                ...(hasTasks ? [task] : []),
                status,
                about,
                ...(isCaller ? [key] : []),
                took,
                amount,
            ]}
            rows={executions}
            rowKey={({ execution_id, on_chain_record }) => `${execution_id} ${on_chain_record}`}
            narrow="lines"
            isLeading={isCaller}
        />
    );
}

const TaskText = ({ text }: { text: string }) => (
    <span className={styles.task}>
        <UserText text={text} />
    </span>
);

function StatusCell({ execution: { status, failure } }: { execution: ListedExecution }) {
    return (
        <span className={styles.status}>
            <StatusBadge status={status} />
            {typeof failure === 'string' && <span className={styles.reason}>{reasonOf(failure)}</span>}
        </span>
    );
}

/** A code that this page does not know is shown as it is. */
const reasonOf = (failure: string | null | undefined): string | undefined =>
    typeof failure === 'string' ? (words.reason(failure) ?? visible(failure)) : undefined;

function tookText(execution: ListedExecution): string {
    const { initiated_at, completed_at, execution_time_ms: ms } = execution;
    if (typeof ms === 'number') return formatMs(ms);
    if (completed_at === null) return isUnderWay(execution) ? words.underWay : words.unknown;
    return formatMs(Math.max(0, new Date(completed_at).getTime() - new Date(initiated_at).getTime()));
}
