// One execution: how it goes, its result, its steps, and the check of all of it.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { Suspense, useEffect, useRef, useState } from 'react';

import { findExecutionRecordAddress } from '../../chain/addresses';
import { uuidBytes } from '../../chain/record';
import { networkQuery } from '../../shared/api/queries';
import { type Described, accountLinkOf } from '../../shared/explorer';
import { formatCount } from '../../shared/figures';
import { UserText } from '../../shared/text/UserText';
import { Address as ShownAddress } from '../../shared/ui/Address';
import { Failure } from '../../shared/ui/Failure';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { useSession } from '../../shared/wallet/useSession';
import { useWallet } from '../../shared/wallet/useWallet';
import { formatUsdc } from '../../shared/money';
import { removeCall, useCall } from '../run';
import { SignInAgain } from '../wallet';
import { CallProgress } from './CallProgress';
import { NotShown } from './NotShown';
import { Outcome } from './Outcome';
import { GiveResult } from './own/GiveResult';
import { OwnEnding } from './own/OwnEnding';
import { useIsPast } from './own/useIsPast';
import { type Execution, executionQuery, isUnderWay, onChainQuery } from './query';
import { Result } from './result/Result';
import { Steps } from './result/Steps';
import { recordAddressOf } from './recordLink';
import { ShareProof } from './ShareProof';
import { Timeline } from './Timeline';
import { LazyVerifyPanel } from './verify/LazyVerifyPanel';
import { words } from './words';
import styles from './Execution.module.css';

const route = getRouteApi('/executions/$executionId');

export function ExecutionPage() {
    const { executionId } = route.useParams();
    const { connection } = useWallet();
    const { session } = useSession();
    const { call, progress, run } = useCall(executionId);
    const { data: network } = useQuery(networkQuery);
    const rpcUrl = network?.rpc_url ?? null;
    const wallet = connection?.account.address;
    const isAwaited = call !== null;
    // The service knows nothing of a call that is not paid and handed over, so it is not asked before.
    const isHandingOver = !['idle', 'stopped', 'working'].includes(progress.stage);
    const isKnown = call === null || call.handedOver === true || (call.signature !== undefined && !isHandingOver);
    const {
        data: execution,
        error,
        refetch,
    } = useQuery(executionQuery(executionId, wallet, isAwaited, Boolean(session) && isKnown));
    const record = useRecordAddress(executionId, call?.wallet, execution);
    const isGoingOn = isAwaited || (execution ? isUnderWay(execution) : false);
    const { data: onChain } = useQuery(onChainQuery(record, rpcUrl, isGoingOn));

    // A refund needs a later second than the deadline.
    const isOver = useIsPast(onChain?.isOpen && onChain.deadline !== null ? onChain.deadline + 1 : null);

    // The stored call is removed when the execution ends; this copy keeps its task on the page.
    const [asked, setAsked] = useState(call);
    if (call !== null && call !== asked) setAsked(call);
    // After a reload a paid call goes on by itself; nothing is signed without a press.
    const resumed = useRef(false);
    useEffect(() => {
        if (resumed.current || call === null || wallet !== call.wallet || progress.stage !== 'idle') return;
        resumed.current = true;
        if (call.signature !== undefined) run(executionId, false);
    }, [call, wallet, progress.stage, run, executionId]);
    useEffect(() => {
        if (execution && !isUnderWay(execution)) removeCall(executionId);
    }, [execution, executionId]);

    const name = execution?.agent_name ?? call?.agentName;
    const agentId = execution?.agent_id ?? call?.agentId;
    const isCalling = call !== null && !call.handedOver && !(execution && !isUnderWay(execution));
    if (execution === undefined && call === null && session === undefined) return <Loading />;
    if (!execution && call === null) {
        return error ? (
            <Page title={words.title}>
                <Failure error={error} onRetry={() => void refetch()} />
            </Page>
        ) : (
            <NotShown isLoading={execution === undefined && Boolean(session)} />
        );
    }
    return (
        <Page
            title={words.title}
            heading={
                name === undefined ? (
                    words.title
                ) : (
                    <>
                        {words.callOf}
                        <UserText text={name} />
                    </>
                )
            }
        >
            {session === null && wallet !== undefined && !isCalling && <SignInAgain />}
            <div className={styles.facts}>
                <ShownAddress value={executionId} what={words.id} ends={8} />
                {agentId !== undefined && (
                    <Link to="/agents/$agentId" params={{ agentId }}>
                        {words.agent}
                    </Link>
                )}
            </div>
            {isCalling && !isOver && (
                <CallProgress
                    call={call}
                    progress={progress}
                    isConnected={wallet !== undefined}
                    isOpen={onChain?.isOpen ?? false}
                    deadline={onChain?.deadline ?? null}
                    isPaused={network?.openings_paused ?? false}
                    onRun={(mayPay) => run(executionId, mayPay)}
                />
            )}
            {!isCalling && !isOver && execution && <Outcome execution={execution} onChain={onChain} />}
            {record !== null && onChain && rpcUrl !== null && wallet !== undefined && (
                <OwnEnding
                    record={record}
                    executionId={executionId}
                    rpcUrl={rpcUrl}
                    onChain={onChain}
                    isOver={isOver}
                />
            )}
            {error && <Failure error={error} onRetry={() => void refetch()} />}
            {asked !== null && <Asked task={asked.task} />}
            <div className={styles.columns}>
                <Timeline call={asked} execution={execution ?? null} onChain={onChain} network={network} />
                <div className={styles.main}>
                    {isOver ? (
                        <p className="muted">{words.result.tooLate}</p>
                    ) : execution ? (
                        <Found execution={execution} rpcUrl={rpcUrl} />
                    ) : (
                        <p className="muted">{words.result.soon}</p>
                    )}
                </div>
                {execution && (
                    <div className={styles.side}>
                        <Figures execution={execution} network={network} />
                        {!isUnderWay(execution) && execution.binding !== null && (
                            <ShareProof record={recordAddressOf(execution)} network={network} />
                        )}
                    </div>
                )}
            </div>
        </Page>
    );
}

/** Of the call in this browser, or as the service states it. Verify does not believe the second. */
function useRecordAddress(
    executionId: string,
    caller: string | undefined,
    execution: Execution | null | undefined,
): Address | null {
    const { data } = useQuery({
        queryKey: ['record-address', caller, executionId],
        queryFn: () => findExecutionRecordAddress(caller as Address, uuidBytes(executionId)),
        enabled: caller !== undefined,
        staleTime: Infinity,
    });
    return data ?? (execution ? recordAddressOf(execution) : null);
}

const Asked = ({ task }: { task: string }) => (
    <details className={styles.asked}>
        <summary>{words.task}</summary>
        <p>
            <UserText text={task.slice(0, 2_000)} />
        </p>
    </details>
);

function Found({ execution, rpcUrl }: { execution: Execution; rpcUrl: string | null }) {
    const { result, result_hash: resultHash, steps, execution_id: executionId } = execution;
    return (
        <>
            {result !== null ? (
                <Result text={result} executionId={executionId} />
            ) : (
                <p className="muted">{isUnderWay(execution) ? words.result.soon : words.result.none}</p>
            )}
            {result === null && resultHash !== null && <GiveResult sha256={resultHash} executionId={executionId} />}
            {steps && steps.length > 0 && <Steps steps={steps} />}
            {!isUnderWay(execution) && rpcUrl !== null && (
                <Suspense fallback={<Skeleton height="8rem" />}>
                    <LazyVerifyPanel execution={execution} rpcUrl={rpcUrl} />
                </Suspense>
            )}
        </>
    );
}

const Figures = ({ execution, network }: { execution: Execution; network: Described }) => (
    <section className={styles.cost} aria-labelledby="cost">
        <h2 id="cost">{words.cost.title}</h2>
        <dl className={styles.figures}>
            <dt>{words.cost.paid}</dt>
            <dd className="number">{words.usdc(formatUsdc(execution.cost_usdc))}</dd>
            <dt>{words.cost.creator}</dt>
            <dd className="number">{words.usdc(formatUsdc(execution.creator_amount_usdc))}</dd>
            <dt>{words.cost.marketplace}</dt>
            <dd className="number">{words.usdc(formatUsdc(execution.platform_amount_usdc))}</dd>
            {typeof execution.tokens_used === 'number' && (
                <>
                    <dt>{words.cost.tokens}</dt>
                    <dd className="number">{formatCount(execution.tokens_used)}</dd>
                </>
            )}
        </dl>
        <p>
            <a href={accountLinkOf(network, execution.on_chain_record)} target="_blank" rel="noreferrer">
                {words.cost.record}
            </a>
        </p>
    </section>
);

const Loading = () => (
    <Page title={words.title}>
        <Skeleton height="6rem" />
        <Skeleton height="16rem" />
    </Page>
);
