// `/disputes/new`: raises a dispute about one's own execution.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';

import { feeText } from '../../chain/fee';
import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
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
import { words } from './words';

const t = words.raising;

const route = getRouteApi('/disputes/new');

export function NewDisputePage() {
    const { execution } = route.useSearch();
    return (
        <Page title={words.raise}>
            <SessionGate why={t.whySignIn}>
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
    if (network?.rpc_url === null) return <Failure error={new Error(t.noNode)} />;
    if (disputable === undefined) {
        return error ? <Failure error={error} onRetry={() => void refetch()} /> : <Skeleton height="24rem" />;
    }
    // Once the transaction is sent, the chain says that there is a dispute already. The form stays until the page of
    // the dispute opens.
    const isSent = transaction.status.kind === 'busy' || transaction.status.kind === 'done';
    const obstacle = isSent ? null : disputeObstacle(disputable);
    return (
        <div className={styles.columns}>
            <aside className={styles.side} aria-label={t.about}>
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
                    <Notice kind="warn" title={t.impossible}>
                        <p>{obstacle}</p>
                        <p className="row">
                            {disputable.isDisputed && (
                                <Link
                                    to="/disputes/$disputeId"
                                    params={{ disputeId: disputable.disputeAddress }}
                                    className={buttonClass()}
                                >
                                    {t.showDispute}
                                </Link>
                            )}
                            <Link to="/executions/$executionId" params={{ executionId }} className={buttonClass()}>
                                {t.showExecution}
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
        <h2>{t.execution}</h2>
        <dl className={styles.facts}>
            <dt>{t.agent}</dt>
            <dd>
                {record === null ? (
                    words.none
                ) : (
                    <Link to="/agents/$agentId" params={{ agentId: record.agent }}>
                        {name === undefined ? t.show : <UserText text={name} />}
                    </Link>
                )}
            </dd>
            <dt>{t.execution}</dt>
            <dd>
                <Shown value={executionId} what={t.executionId} />
            </dd>
            {record !== null && (
                <>
                    <dt>{t.paid}</dt>
                    <dd className="number">{words.usdc(record.amount)}</dd>
                    <dt>{t.windowEnds}</dt>
                    <dd>
                        {record.finishedAtUnixS === 0n ? (
                            words.none
                        ) : (
                            <Countdown to={disputableUntil(record)} over={t.over} />
                        )}
                    </dd>
                </>
            )}
        </dl>
        <p>
            <Link to="/executions/$executionId" params={{ executionId }}>
                {t.proof}
            </Link>
        </p>
    </div>
);

const Cost = ({ disputable: { rent, record, bond } }: { disputable: Disputable }) => (
    <div className={styles.card}>
        <h2>{t.cost}</h2>
        <dl className={styles.facts}>
            <dt>{t.bond}</dt>
            <dd className="number">{words.usdc(bond)}</dd>
            <dt>{t.deposit}</dt>
            <dd className="number">{words.sol(rent)}</dd>
            <dt>{t.fee}</dt>
            <dd className="number">{feeText()}</dd>
        </dl>
        <p className="small muted">{t.bondHint}</p>
        <h2>{t.outcomes}</h2>
        <ul className={`${styles.bullets} small`}>
            {t.outcome(record?.amount ?? null).map(([name, what]) => (
                <li key={name}>
                    <strong>{name}</strong> {what}
                </li>
            ))}
        </ul>
        <p className="small muted">{t.rules}</p>
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
                if (obstacle !== null || found.record === null) throw new Error(obstacle ?? t.noRecord);
                if (found.bond !== bond) throw new Error(t.newBond(found.bond));
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
        <form className={styles.form} onSubmit={raise} noValidate aria-label={t.form}>
            <h2>{t.wrong}</h2>
            <Notice kind="warn" title={t.public}>
                <p>{t.publicHint}</p>
            </Notice>
            <EvidenceForm
                label={t.text}
                hint={t.textHint}
                draft={draft}
                onChange={setDraft}
                isChecked={isChecked}
                isDisabled={isBusy}
            />
            <Button look="primary" type="submit" isDisabled={isBusy}>
                {isBusy ? t.busy : t.submit}
            </Button>
            <TransactionState status={status} done={t.done} />
        </form>
    );
}
