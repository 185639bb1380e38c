// Calls of this browser that have not ended, each with a link to it, also those that the service does not know yet.

import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';

import { plural } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Button } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { ExactTime } from '../../shared/ui/ExactTime';
import { type StoredCall, removeCall, useStoredCalls } from '../run';
import styles from './Executions.module.css';
import { type ListedExecution, isUnderWay } from './query';

const SHOWN = 10;
const TASK_CHARACTERS = 80;

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
        <Notice
            kind="warn"
            title={`${plural(open.length, 'call')} of this browser ${open.length === 1 ? 'has' : 'have'} not ended`}
        >
            <ul className={styles.refundable}>
                {open.slice(0, SHOWN).map((call) => (
                    <Call key={call.executionId} call={call} />
                ))}
            </ul>
            {open.length > SHOWN && <p className="small">The newest {SHOWN} are shown.</p>}
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
            <UserText text={task.slice(0, TASK_CHARACTERS)} />
            <br />
            <span className="small muted">
                {handedOver === true
                    ? 'The agent has it.'
                    : signature === undefined
                      ? 'Nothing was paid for it.'
                      : 'It was signed. Go on to see where it is.'}
            </span>
        </span>
        <span className="row">
            <Link
                to="/executions/$executionId"
                params={{ executionId }}
                aria-label={`Go on with the call of ${visible(agentName)}`}
            >
                Go on
            </Link>
            {signature === undefined && handedOver === undefined && (
                <Button look="danger" onPress={() => removeCall(executionId)}>
                    Forget it
                </Button>
            )}
        </span>
    </li>
);
