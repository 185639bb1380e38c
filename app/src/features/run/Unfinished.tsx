// Calls of this browser that were started and have not ended, each with a link to it, shown before the user pays for
// another one.

import { Link } from '@tanstack/react-router';

import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Notice } from '../../shared/ui/Notice';
import { ExactTime } from '../../shared/ui/ExactTime';
import { useStoredCalls } from './call/useCall';
import { words } from './words';

const SHOWN = 5;

export function Unfinished({ agentId }: { agentId: string }) {
    const calls = useStoredCalls().filter((call) => call.agentId === agentId);
    if (calls.length === 0) return null;
    return (
        <Notice kind="warn" title={words.unfinished(calls.length)}>
            <ul className="stack">
                {calls.slice(0, SHOWN).map(({ executionId, createdAt, price, task }) => (
                    <li key={executionId}>
                        <Link to="/executions/$executionId" params={{ executionId }}>
                            {words.resume}
                        </Link>{' '}
                        <ExactTime at={createdAt} />, {formatUsdc(BigInt(price))} USDC:{' '}
                        <UserText text={task.slice(0, 80)} />
                    </li>
                ))}
            </ul>
        </Notice>
    );
}
