// Calls of this browser that have not ended, each with a link to it, also those that the service does not know yet.

import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';

import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { excerptOf } from '../../shared/tasks';
import { visible } from '../../shared/text/visible';
import { Button } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { ExactTime } from '../../shared/ui/ExactTime';
import { type StoredCall, removeCall, useStoredCalls } from '../run';
import styles from './Executions.module.css';
import { type ListedExecution, isUnderWay } from './query';
import { words } from './words';

const SHOWN = 10;

export function UnfinishedCalls({
    account,
    known,
}: {
    account: string;
    known: readonly ListedExecution[] | undefined;
}) {
    const calls = useStoredCalls().filter(({ wallet }) => wallet === account);
    const ended = calls.filter(({ executionId }) =>
        known?.some((execution) => execution.execution_id === executionId && !isUnderWay(execution)),
    );
    useEffect(() => {
        // The list shows how they went.
        for (const { executionId } of ended) removeCall(executionId);
    });
    const open = calls.filter((call) => !ended.includes(call));
    if (open.length === 0) return null;
    return (
        <Notice kind="warn" title={words.unfinished(open.length)}>
            <ul className={styles.refundable}>
                {open.slice(0, SHOWN).map((call) => (
                    <Call key={call.executionId} call={call} />
                ))}
            </ul>
            {open.length > SHOWN && <p className="small">{words.newestShown(SHOWN)}</p>}
        </Notice>
    );
}

const Call = ({
    call: { executionId, agentName, price, task, createdAt, signature, handedOver },
}: {
    call: StoredCall;
}) => (
    <li className={styles.what}>
        <span>
            <UserText text={agentName} />, {formatUsdc(BigInt(price))} USDC, <ExactTime at={createdAt} />:{' '}
            <UserText text={excerptOf(task)} />
            <br />
            <span className="small muted">
                {handedOver === true ? words.agentHasIt : signature === undefined ? words.notPaid : words.signed}
            </span>
        </span>
        <span className="row">
            <Link
                to="/executions/$executionId"
                params={{ executionId }}
                aria-label={words.goOnWith(visible(agentName))}
            >
                {words.goOn}
            </Link>
            {signature === undefined && handedOver === undefined && (
                <Button look="danger" onPress={() => removeCall(executionId)}>
                    {words.forget}
                </Button>
            )}
        </span>
    </li>
);
