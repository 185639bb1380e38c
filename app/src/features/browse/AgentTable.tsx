// The list of agents as a dense table, one row for each. A row leads to its agent.

import { Link } from '@tanstack/react-router';

import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import { type Column, Table } from '../../shared/ui/Table';
import styles from './Browse.module.css';
import { Creator, recordOf } from './figures';
import type { ListedAgent } from './query';
import { words } from './words';

const { columns } = words;

const COLUMNS: readonly Column<ListedAgent>[] = [
    {
        name: columns.agent,
        cell: ({ agent_id: agentId, name, status }) => (
            <span className={styles.cellName}>
                <Link to="/agents/$agentId" params={{ agentId }} data-row>
                    <UserText text={name} />
                </Link>
                {status === 'paused' && <Badge kind="warn">{words.paused}</Badge>}
            </span>
        ),
        place: 'start',
    },
    { name: columns.creator, cell: ({ creator }) => <Creator creator={creator} />, place: 'second' },
    { name: columns.trust, cell: ({ trust_usdc }) => formatUsdc(trust_usdc), isNumber: true },
    { name: columns.executions, cell: (agent) => recordOf(agent).executions, isNumber: true },
    { name: columns.success, cell: (agent) => recordOf(agent).success, isNumber: true },
    { name: columns.time, cell: (agent) => recordOf(agent).time, isNumber: true },
    {
        name: words.record,
        cell: (agent) => {
            const { executions, success } = recordOf(agent);
            return words.recordLine(executions, success);
        },
        place: 'rest',
        isNarrow: true,
    },
    {
        name: columns.price,
        cell: ({ price_per_call_usdc }) => formatUsdc(price_per_call_usdc),
        isNumber: true,
        place: 'end',
    },
];

export const AgentTable = ({ agents }: { agents: readonly ListedAgent[] }) => (
    <Table
        caption={words.tableCaption}
        columns={COLUMNS}
        rows={agents}
        rowKey={({ agent_id }) => agent_id}
        narrow="lines"
        isLeading
    />
);
