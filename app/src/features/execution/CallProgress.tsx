// A call of this browser on its way to the agent: what is going on, what went wrong, and the ways on.

import { Link } from '@tanstack/react-router';

import { formatUsdc } from '../../shared/money';
import { Button, buttonClass } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { type CallProblem, type Progress, type Stage, type StoredCall, removeCall } from '../run';
import { ExactTime } from '../../shared/ui/ExactTime';

export type CallProgressProps = {
    call: StoredCall;
    progress: Progress;
    isConnected: boolean;
    /** The record is on the chain. */
    isOpen: boolean;
    deadline: number | null;
    /** The market takes no new calls. */
    isPaused: boolean;
    onRun: (mayPay: boolean) => void;
};

const STAGES: Partial<Record<Stage, string>> = {
    looking: 'Looking at the chain …',
    'signing-in': 'Your wallet asks you to sign in. That costs nothing.',
    checking: 'Checking the terms …',
    signing: 'Your wallet asks you to sign the payment.',
    confirming: 'Sent. Waiting until the network has confirmed it …',
    'handing-over': 'Paid into the escrow. Handing the request to the agent …',
    working: 'The agent has the request.',
};

export function CallProgress({ call, progress, isConnected, isOpen, deadline, isPaused, onRun }: CallProgressProps) {
    const price = `${formatUsdc(BigInt(call.price))} USDC`;
    const doing = STAGES[progress.stage];
    if (doing !== undefined) {
        return (
            <div role="status">
                <Notice title={doing}>
                    {progress.stage === 'signing' && <p>It moves {price} into the escrow, once.</p>}
                    {(progress.stage !== 'signing' || progress.note !== null) && (
                        <p>{progress.note ?? 'You can reload this page at any time. Nothing is paid twice.'}</p>
                    )}
                </Notice>
            </div>
        );
    }
    if (!isConnected) {
        return (
            <Notice kind="warn" title="Connect the wallet of this call">
                <p>This call belongs to the wallet {call.wallet}. Connect it at the top of the page to go on.</p>
            </Notice>
        );
    }
    return (
        <Stopped
            call={call}
            problem={progress.problem}
            isOpen={isOpen}
            deadline={deadline}
            isPaused={isPaused}
            onRun={onRun}
            price={price}
        />
    );
}

type StoppedProps = Pick<CallProgressProps, 'call' | 'isOpen' | 'deadline' | 'isPaused' | 'onRun'> & {
    problem: CallProblem | null;
    price: string;
};

function Stopped({ call, problem, isOpen, deadline, isPaused, onRun, price }: StoppedProps) {
    const money = isOpen ? 'escrow' : (problem?.money ?? 'wallet');
    const title = problem?.title ?? (isOpen ? 'Paid, and not handed over yet' : 'Not paid yet');
    const text = problem?.message ?? (isOpen ? '' : 'You chose this call, and nothing was paid for it so far.');
    return (
        <div role="alert">
            <Notice kind={problem === null ? 'plain' : 'warn'} title={title}>
                {text !== '' && <p dir="auto">{text}</p>}
                {money === 'escrow' && <InEscrow price={price} deadline={deadline} />}
                {money === 'wallet' && isPaused && (
                    <p>The marketplace takes no new calls at the moment, so nothing can be paid.</p>
                )}
                <div className="row">
                    {money === 'wallet' && (
                        <Button look="primary" isDisabled={isPaused} onPress={() => onRun(true)}>
                            {problem === null ? `Sign and pay ${price}` : 'Try again'}
                        </Button>
                    )}
                    {money === 'escrow' && (
                        <Button look="primary" onPress={() => onRun(false)}>
                            Hand the request over
                        </Button>
                    )}
                    {money === 'unknown' && (
                        <Button look="primary" onPress={() => onRun(false)}>
                            Look again
                        </Button>
                    )}
                    {money === 'wallet' && (
                        <Link
                            to="/agents/$agentId/run"
                            params={{ agentId: call.agentId }}
                            className={buttonClass('plain')}
                            onClick={() => removeCall(call.executionId)}
                        >
                            Change the request
                        </Link>
                    )}
                </div>
            </Notice>
        </div>
    );
}

const InEscrow = ({ price, deadline }: { price: string; deadline: number | null }) => (
    <p>
        {price} are in the escrow. Without a signed result they come back to your wallet by themselves
        {deadline === null ? (
            '.'
        ) : (
            <>
                , after <ExactTime at={deadline} />.
            </>
        )}
    </p>
);
