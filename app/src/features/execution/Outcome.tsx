// How the execution went and where the money is, at the top of the page.

import { Link } from '@tanstack/react-router';

import { movedBy } from '../../chain/story';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { buttonClass } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { DisputeLink, RaiseDispute } from './Disputing';
import { type Execution, type OnChain, isUnderWay, isUnopened } from './query';
import { words } from './words';

const w = words.outcome;

export type OutcomeProps = { execution: Execution; onChain: OnChain | undefined };

export function Outcome({ execution, onChain }: OutcomeProps) {
    const { status, error, dispute, cost_usdc: cost } = execution;
    if (isUnderWay(execution)) {
        return (
            <Notice title={w.running}>
                <p>{w.runningText}</p>
            </Notice>
        );
    }
    if (status === 'disputed') {
        return (
            <Notice kind="warn" title={w.disputed}>
                <p>{w.disputedText}</p>
                <DisputeLink execution={execution} />
            </Notice>
        );
    }
    if (status === 'completed') {
        return (
            <Notice kind="good" title={w.done}>
                <p>
                    {w.doneText(formatUsdc(cost))}
                    {dispute &&
                        (dispute.compensation_usdc > 0n
                            ? w.compensated(formatUsdc(dispute.compensation_usdc))
                            : w.notCompensated)}
                </p>
                {dispute ? (
                    <DisputeLink execution={execution} />
                ) : (
                    <RaiseDispute execution={execution} until={onChain?.disputableUntil ?? null} />
                )}
            </Notice>
        );
    }
    return (
        <Notice kind="warn" title={dispute ? w.upheld : w.failed}>
            {dispute ? (
                <>
                    <p>{w.upheldText(formatUsdc(dispute.compensation_usdc), formatUsdc(cost))}</p>
                    <DisputeLink execution={execution} />
                </>
            ) : (
                <>
                    <p>{w.reasons[error?.code ?? ''] ?? w.failedText}</p>
                    {error && (
                        <p className="small">
                            <UserText text={error.message} />
                        </p>
                    )}
                    <p>{whereTheMoneyIs(execution, onChain)}</p>
                </>
            )}
            <p>
                <Link
                    to="/agents/$agentId/run"
                    params={{ agentId: execution.agent_id }}
                    className={buttonClass('plain')}
                >
                    {w.again}
                </Link>
            </p>
        </Notice>
    );
}

function whereTheMoneyIs(execution: Execution, onChain: OnChain | undefined): string {
    const ending = onChain?.ending;
    if (ending?.payees.kind === 'refunded') {
        const { caller } = ending.payees;
        const mint = ending.transaction.changes.find(({ account }) => account === caller)?.mint;
        const amount = mint && movedBy(ending, mint).get(caller);
        if (amount !== undefined) return w.refunded(formatUsdc(amount));
    }
    return isUnopened(execution, onChain) ? w.notMoved : w.back;
}
