// A creator's agents: state with the reason in words, price, calls, what they earned, collateral and cover.

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import { formatCount, formatShare } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import { Button } from '../../shared/ui/Button';
import { type Column, Table } from '../../shared/ui/Table';
import { agentQuery, listingQuery } from '../agent';
import { coverText } from './cover';
import styles from './Creator.module.css';
import { OwnAgentLink } from './OwnAgentLink';
import { stateOf } from './reasons';
import type { AgentRow } from './rows';
import { words } from './words';

const w = words.table;

/** Each row asks the service for its cover. */
const PAGE = 20;

const COLUMNS: readonly Column<AgentRow>[] = [
    { name: w.agent, cell: (row) => <Name row={row} /> },
    { name: w.state, cell: (row) => <State row={row} /> },
    { name: w.price, cell: ({ price }) => formatUsdc(price), isNumber: true },
    { name: w.calls, cell: (row) => <Calls row={row} />, isNumber: true },
    { name: w.earned, cell: ({ earned }) => (earned === null ? words.unknown : formatUsdc(earned)), isNumber: true },
    { name: w.collateral, cell: (row) => <Collateral row={row} />, isNumber: true },
];

export function AgentsTable({ rows }: { rows: readonly AgentRow[] }) {
    const [shown, setShown] = useState(PAGE);
    return (
        <>
            <p className="small muted">
                {w.unit}
                {rows.some(({ earned }) => earned === null) && w.newestOnly}
            </p>
            <Table
                caption={words.title}
                columns={COLUMNS}
                rows={rows.slice(0, shown)}
                rowKey={({ agentId }) => agentId}
            />
            {shown < rows.length && (
                <p>
                    <Button onPress={() => setShown(shown + PAGE)}>{w.more(rows.length)}</Button>
                </p>
            )}
        </>
    );
}

/** The service names the newest agents of a wallet at once, and every other one when it is asked. */
function useDescribed(row: AgentRow): AgentRow {
    const isUnknown = row.reason === undefined;
    const { data: agent } = useQuery({ ...agentQuery(row.agentId), enabled: isUnknown && row.status !== 'delisted' });
    const { data: listing } = useQuery({ ...listingQuery(row.agentId), enabled: isUnknown });
    return isUnknown ? { ...row, name: agent?.name ?? null, reason: listing?.reason } : row;
}

const Name = ({ row }: { row: AgentRow }) => (
    <span className={styles.name}>
        <OwnAgentLink row={useDescribed(row)} />
    </span>
);

function State({ row }: { row: AgentRow }) {
    const described = useDescribed(row);
    const { badge, kind, text, message } = stateOf(described.status, described.reason, row.isSuspended);
    return (
        <span className={styles.lines}>
            <span>
                <Badge kind={kind}>{badge}</Badge>
            </span>
            {text !== null && <span className="small muted">{text}</span>}
            {message !== null && (
                <span className="small muted">
                    <UserText text={message} />
                </span>
            )}
        </span>
    );
}

const Calls = ({ row: { executions, successRate, openExecutions, openDisputes } }: { row: AgentRow }) => (
    <span className={styles.lines}>
        <span>{formatCount(executions)}</span>
        <span className="small muted">{successRate === null ? w.noneEnded : w.success(formatShare(successRate))}</span>
        {openExecutions > 0 && <span className="small muted">{w.open(openExecutions)}</span>}
        {openDisputes > 0 && <Badge kind="warn">{w.disputed(openDisputes)}</Badge>}
    </span>
);

function Collateral({ row }: { row: AgentRow }) {
    const { agentId, status, collateral, required } = row;
    const { data: agent } = useQuery({ ...agentQuery(agentId), enabled: status !== 'delisted' });
    const isShort = required !== null && collateral < required && status !== 'delisted';
    return (
        <span className={styles.lines}>
            <span>{formatUsdc(collateral)}</span>
            {isShort && <Badge kind="warn">{w.needed(formatUsdc(required))}</Badge>}
            {status !== 'delisted' && (
                <span className="small muted">
                    {agent
                        ? coverText(agent.metrics.free_collateral_usdc, agent.metrics.amount_at_risk_usdc)
                        : '\u00a0'}
                </span>
            )}
        </span>
    );
}
