// `/disputes/new`: raises a dispute about one's own execution.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';

import { feeText } from '../../chain/fee';
import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
import { formatSol, formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Button, buttonClass } from '../../shared/ui/Button';
import { Address as Shown } from '../../shared/ui/Address';
import { Countdown } from '../../shared/ui/Countdown';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { type UseTransaction, useTransaction } from '../../shared/wallet/useTransaction';
import { executionQuery } from '../execution';
import { SessionGate, TransactionState } from '../wallet';
import { type Disputable, disputableQuery, disputableUntil, disputeObstacle, readDisputable } from './chain/disputable';
import { openInstructions } from './chain/instructions';
import { ChooseExecution } from './ChooseExecution';
import styles from './Disputes.module.css';
import { filesProblem, textProblem } from './evidence/draft';
import { EvidenceForm } from './evidence/EvidenceForm';
import { storeEvidence } from './evidence/store';
import { forgetDraft, useDraft } from './evidence/useDraft';

const route = getRouteApi('/disputes/new');

export function NewDisputePage() {
    const { execution } = route.useSearch();
    return (
        <Page title="Raise a dispute">
            <SessionGate why="Only the wallet that paid for an execution can dispute it.">
                {(wallet) =>
                    execution === undefined ? (
                        <ChooseExecution wallet={wallet} />
                    ) : (
                        <Raise key={`${wallet} ${execution}`} wallet={wallet} executionId={execution} />
                    )
                }
            </SessionGate>
        </Page>
    );
}

function Raise({ wallet, executionId }: { wallet: Address; executionId: string }) {
    const { data: network } = useQuery(networkQuery);
    const { data: disputable, error, refetch } = useQuery(disputableQuery(executionId, wallet, network));
    const { data: execution } = useQuery(executionQuery(executionId, wallet, false));
    const transaction = useTransaction();
    if (network?.rpc_url === null)
        return <Failure error={new Error('This service names no Solana node that this page may ask.')} />;
    if (error) return <Failure error={error} onRetry={() => void refetch()} />;
    if (disputable === undefined) return <Skeleton height="24rem" />;
    // Once the transaction is sent, the chain says that there is a dispute already. The form stays until the page of
    // the dispute opens.
    const isSent = transaction.status.kind === 'busy' || transaction.status.kind === 'done';
    const obstacle = isSent ? null : disputeObstacle(disputable);
    return (
        <div className={styles.columns}>
            <aside className={styles.side} aria-label="What it is about">
                <Subject disputable={disputable} executionId={executionId} name={execution?.agent_name} />
                {obstacle === null && <Cost disputable={disputable} />}
            </aside>
            <div className={styles.main}>
                {obstacle === null && network !== undefined ? (
                    <RaiseForm
                        wallet={wallet}
                        executionId={executionId}
                        network={network}
                        bond={disputable.bond}
                        transaction={transaction}
                    />
                ) : (
                    <Notice kind="warn" title="There can be no dispute">
                        <p>{obstacle}</p>
                        <p className="row">
                            {disputable.isDisputed && (
                                <Link
                                    to="/disputes/$disputeId"
                                    params={{ disputeId: disputable.disputeAddress }}
                                    className={buttonClass()}
                                >
                                    Show the dispute
                                </Link>
                            )}
                            <Link to="/executions/$executionId" params={{ executionId }} className={buttonClass()}>
                                Show the execution
                            </Link>
                        </p>
                    </Notice>
                )}
            </div>
        </div>
    );
}

type SubjectProps = { disputable: Disputable; executionId: string; name: string | undefined };

const Subject = ({ disputable: { record }, executionId, name }: SubjectProps) => (
    <div className={styles.card}>
        <h2>Execution</h2>
        <dl className={styles.facts}>
            <dt>Agent</dt>
            <dd>
                {record === null ? (
                    '\u2013'
                ) : (
                    <Link to="/agents/$agentId" params={{ agentId: record.agent }}>
                        {name === undefined ? 'Show' : <UserText text={name} />}
                    </Link>
                )}
            </dd>
            <dt>Execution</dt>
            <dd>
                <Shown value={executionId} what="execution id" />
            </dd>
            {record !== null && (
                <>
                    <dt>You paid</dt>
                    <dd className="number">{formatUsdc(record.amount)} USDC</dd>
                    <dt>Window ends</dt>
                    <dd>
                        {record.finishedAtUnixS === 0n ? (
                            '\u2013'
                        ) : (
                            <Countdown to={disputableUntil(record)} over="over" />
                        )}
                    </dd>
                </>
            )}
        </dl>
        <p>
            <Link to="/executions/$executionId" params={{ executionId }}>
                Result and proof
            </Link>
        </p>
    </div>
);

const Cost = ({ disputable: { rent, record, bond } }: { disputable: Disputable }) => (
    <div className={styles.card}>
        <h2>What it costs</h2>
        <dl className={styles.facts}>
            <dt>Bond</dt>
            <dd className="number">{formatUsdc(bond)} USDC</dd>
            <dt>Deposit, comes back</dt>
            <dd className="number">{formatSol(rent)} SOL</dd>
            <dt>Network fee</dt>
            <dd className="number">{feeText()}</dd>
        </dl>
        <p className="small muted">
            The bond moves from your wallet into the escrow of the agent. You get it back when the dispute ends, unless
            the resolver finds that you knew the claim to be false. The deposit comes back when the record of the
            execution is closed, after its dispute window.
        </p>
        <h2>What can come of it</h2>
        <ul className={`${styles.bullets} small`}>
            <li>
                <strong>Upheld:</strong> you get up to{' '}
                {record === null ? 'what you paid' : `${formatUsdc(record.amount)} USDC`} back, out of the
                creator&rsquo;s collateral. The resolver names the amount.
            </li>
            <li>
                <strong>Rejected:</strong> the creator keeps the price.
            </li>
            <li>
                <strong>Rejected as abusive:</strong> the creator keeps the price and gets your bond.
            </li>
            <li>
                <strong>Given up by you:</strong> possible until it ends. The creator keeps the price.
            </li>
            <li>
                <strong>Not decided within 30 days:</strong> anybody can end it. The creator keeps the price; only if
                there is no resolver, you get what the collateral covers.
            </li>
        </ul>
        <p className="small muted">
            The creator can answer. The resolver means to decide within 72 hours. An execution has one dispute, ever.
        </p>
    </div>
);

type RaiseFormProps = {
    wallet: Address;
    executionId: string;
    network: Schemas['NetworkResponse'];
    /** What the caller saw: no more is deposited. */
    bond: bigint;
    transaction: UseTransaction;
};

function RaiseForm({ wallet, executionId, network, bond, transaction: { status, isBusy, send } }: RaiseFormProps) {
    const rpcUrl = network.rpc_url ?? '';
    const navigate = useNavigate();
    const key = `dispute.${executionId}`;
    const [draft, setDraft] = useDraft(key);
    const [isChecked, setChecked] = useState(false);
    const raise = (event: SubmitEvent): void => {
        event.preventDefault();
        setChecked(true);
        if (textProblem(draft.text) !== undefined || filesProblem(draft.files) !== undefined) return;
        let dispute = '';
        void send({
            build: async () => {
                const found = await readDisputable(rpcUrl, wallet, network.usdc_mint as Address, executionId);
                const obstacle = disputeObstacle(found);
                if (obstacle !== null || found.record === null) throw new Error(obstacle ?? 'There is no record.');
                if (found.bond !== bond)
                    throw new Error(`The bond has just changed to ${formatUsdc(found.bond)} USDC. Look at it again.`);
                const named = await storeEvidence(wallet, draft);
                dispute = found.disputeAddress;
                const { record, recordAddress, mint } = found;
                return openInstructions(wallet, record.agent, recordAddress, mint, named, rpcUrl);
            },
            after: async () => {
                forgetDraft(key);
                await navigate({ to: '/disputes/$disputeId', params: { disputeId: dispute }, replace: true });
            },
        });
    };
    return (
        <form className={styles.form} onSubmit={raise} noValidate aria-label="Dispute">
            <h2>What is wrong</h2>
            <Notice kind="warn" title="Evidence is public">
                <p>
                    Text and files are stored under their hash, which stands on the chain. Everybody who knows it can
                    read them, and nothing can be taken back. Leave out secrets.
                </p>
            </Notice>
            <EvidenceForm
                label="What happened"
                hint="Quote what you asked for, and say what is wrong with the result. The resolver sees the result, but not your task."
                draft={draft}
                onChange={setDraft}
                isChecked={isChecked}
                isDisabled={isBusy}
            />
            <Button look="primary" type="submit" isDisabled={isBusy}>
                {isBusy ? 'Raising the dispute …' : 'Raise the dispute'}
            </Button>
            <TransactionState status={status} done="The dispute is raised. Its page follows." />
        </form>
    );
}
