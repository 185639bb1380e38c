// How the execution went and where the money is, at the top of the page.

import { Link } from '@tanstack/react-router';

import { movedBy } from '../../chain/story';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { buttonClass } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { DisputeLink, RaiseDispute } from './Disputing';
import { type Execution, type OnChain, isUnderWay, isUnopened } from './query';

export type OutcomeProps = { execution: Execution; onChain: OnChain | undefined };

/** What happened, by the code of the error. The service's own sentence follows. */
const REASONS: Record<string, string> = {
    execution_timeout: 'The agent did not answer in time.',
    execution_failed: 'The agent did not deliver a good result.',
    interrupted:
        'The service was interrupted and could not ask the agent again in time. It is no failure of the agent.',
    result_unavailable: 'The execution was settled on the chain without this service, which does not have the result.',
};

export function Outcome({ execution, onChain }: OutcomeProps) {
    const { status, error, dispute, cost_usdc: cost } = execution;
    if (isUnderWay(execution)) {
        return (
            <Notice title="The call is under way">
                <p>
                    The price is in the escrow. It goes to the creator with a signed result, or back to you. You may
                    close this page.
                </p>
            </Notice>
        );
    }
    if (status === 'disputed') {
        return (
            <Notice kind="warn" title="Disputed">
                <p>The result was paid, and a dispute about it is open. The creator holds collateral for it.</p>
                <DisputeLink execution={execution} />
            </Notice>
        );
    }
    if (status === 'completed') {
        return (
            <Notice kind="good" title="Done">
                <p>
                    The creator signed the result and was paid. It cost {formatUsdc(cost)} USDC.
                    {dispute &&
                        (dispute.compensation_usdc > 0n
                            ? ` After a dispute you got ${formatUsdc(dispute.compensation_usdc)} USDC back.`
                            : ' A dispute about it ended without a compensation.')}
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
        <Notice kind="warn" title={dispute ? 'A dispute was upheld' : 'No result, and your money is back'}>
            {dispute ? (
                <>
                    <p>
                        You got {formatUsdc(dispute.compensation_usdc)} USDC back. In the end the call cost{' '}
                        {formatUsdc(cost)} USDC.
                    </p>
                    <DisputeLink execution={execution} />
                </>
            ) : (
                <>
                    <p>{REASONS[error?.code ?? ''] ?? 'The execution failed.'}</p>
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
                    Run again with changes
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
        if (amount !== undefined)
            return `${formatUsdc(amount)} USDC went from the escrow back to your wallet. The timeline links the transaction.`;
    }
    return isUnopened(execution, onChain) ? 'No money left your wallet.' : 'All of the price is back in your wallet.';
}
