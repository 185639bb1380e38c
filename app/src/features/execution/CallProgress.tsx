// A call of this browser on its way to the agent: what is going on, what went wrong, and the ways on.

import { Link } from '@tanstack/react-router';

import { formatUsdc } from '../../shared/money';
import { Button, buttonClass } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { type CallProblem, type Progress, type Stage, type StoredCall, removeCall } from '../run';
import { ExactTime } from '../../shared/ui/ExactTime';
import { words } from './words';

const w = words.progress;

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
    looking: w.looking,
    'signing-in': w.signingIn,
    checking: w.checking,
    signing: w.signing,
    confirming: w.confirming,
    'handing-over': w.handingOver,
    working: w.working,
};

export function CallProgress({ call, progress, isConnected, isOpen, deadline, isPaused, onRun }: CallProgressProps) {
    const price = words.usdc(formatUsdc(BigInt(call.price)));
    const doing = STAGES[progress.stage];
    if (doing !== undefined) {
        return (
            <div role="status">
                <Notice title={doing}>
                    {progress.stage === 'signing' && <p>{w.signingText(price)}</p>}
                    {(progress.stage !== 'signing' || progress.note !== null) && <p>{progress.note ?? w.reload}</p>}
                </Notice>
            </div>
        );
    }
    if (!isConnected) {
        return (
            <Notice kind="warn" title={w.connect}>
                <p>{w.connectText(call.wallet)}</p>
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
    const title = problem?.title ?? (isOpen ? w.notHandedOver : w.notPaid);
    const text = problem?.message ?? (isOpen ? '' : w.notPaidText);
    return (
        <div role="alert">
            <Notice kind={problem === null ? 'plain' : 'warn'} title={title}>
                {text !== '' && <p dir="auto">{text}</p>}
                {money === 'escrow' && <InEscrow price={price} deadline={deadline} />}
                {money === 'wallet' && isPaused && <p>{w.paused}</p>}
                <div className="row">
                    {money === 'wallet' && (
                        <Button look="primary" isDisabled={isPaused} onPress={() => onRun(true)}>
                            {problem === null ? w.pay(price) : w.again}
                        </Button>
                    )}
                    {money === 'escrow' && (
                        <Button look="primary" onPress={() => onRun(false)}>
                            {w.handOver}
                        </Button>
                    )}
                    {money === 'unknown' && (
                        <Button look="primary" onPress={() => onRun(false)}>
                            {w.look}
                        </Button>
                    )}
                    {money === 'wallet' && (
                        <Link
                            to="/agents/$agentId/run"
                            params={{ agentId: call.agentId }}
                            className={buttonClass('plain')}
                            onClick={() => removeCall(call.executionId)}
                        >
                            {w.change}
                        </Link>
                    )}
                </div>
            </Notice>
        </div>
    );
}

const InEscrow = ({ price, deadline }: { price: string; deadline: number | null }) => (
    <p>
        {w.inEscrow(price)}
        {deadline !== null && (
            <>
                {w.inEscrowAfter}
                <ExactTime at={deadline} />
            </>
        )}
        .
    </p>
);
