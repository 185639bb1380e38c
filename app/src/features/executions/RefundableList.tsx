// What the wallet can get back: its executions that are still open after their deadline.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { networkQuery } from '../../shared/api/queries';
import { formatUsdc } from '../../shared/money';
import { short } from '../../shared/text/short';
import { Notice } from '../../shared/ui/Notice';
import { AgentName } from '../agent';
import { RefundButton } from '../execution';
import { ExactTime } from '../../shared/ui/ExactTime';
import styles from './Executions.module.css';
import { type Refundable, refundableQuery } from './query';
import { words } from './words';

export function RefundableList({ account }: { account: Address }) {
    const { data: found } = useQuery(refundableQuery(account));
    const { data: network } = useQuery(networkQuery);
    if (found === undefined || found.length === 0) return null;
    const total = found.reduce((sum, { amount_usdc }) => sum + amount_usdc, 0n);
    return (
        <Notice kind="warn" title={words.refundable(formatUsdc(total))}>
            <p>{words.refundableHint}</p>
            <ul className={styles.refundable}>
                {found.map((execution) => (
                    <Row key={execution.execution_record} execution={execution} rpcUrl={network?.rpc_url ?? null} />
                ))}
            </ul>
        </Notice>
    );
}

const Row = ({ execution, rpcUrl }: { execution: Refundable; rpcUrl: string | null }) => {
    const { execution_id: executionId, execution_record: record, agent_id, amount_usdc, deadline_at } = execution;
    return (
        <li>
            <span>
                <Link to="/executions/$executionId" params={{ executionId }} className="mono">
                    {short(executionId, 6)}
                </Link>{' '}
                {words.of} <AgentName agentId={agent_id} />: {words.withDeadline(formatUsdc(amount_usdc))}{' '}
                <ExactTime at={deadline_at} />
            </span>
            {rpcUrl !== null && <RefundButton record={record as Address} rpcUrl={rpcUrl} />}
        </li>
    );
};
