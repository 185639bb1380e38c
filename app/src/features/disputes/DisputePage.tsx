// `/disputes/…`: one dispute with both sides, its clocks, its proof, and what the connected wallet can do.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';

import { hexOf } from '../../chain/accounts';
import { networkQuery } from '../../shared/api/queries';
import { UserText } from '../../shared/text/UserText';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { SessionGate } from '../wallet';
import { Actions } from './actions/Actions';
import { YourTurn } from './actions/YourTurn';
import { type Case, caseQuery, statusOf, uriOf } from './chain/case';
import { Clocks } from './Clocks';
import styles from './Disputes.module.css';
import { Statement } from './evidence/Statement';
import { Facts } from './Facts';
import { Proof } from './Proof';
import { type Dispute, disputeQuery } from './query';
import { words } from './words';

const t = words.page;

const route = getRouteApi('/disputes/$disputeId');

export function DisputePage() {
    const { disputeId } = route.useParams();
    return (
        <Page title={t.title}>
            <SessionGate why={t.whySignIn}>
                {(wallet) => <OneDispute key={`${wallet} ${disputeId}`} id={disputeId} wallet={wallet} />}
            </SessionGate>
        </Page>
    );
}

function OneDispute({ id, wallet }: { id: string; wallet: Address }) {
    const { data: network } = useQuery(networkQuery);
    const { data: dispute, error, refetch } = useQuery(disputeQuery(id, wallet));
    const onChain = useQuery(caseQuery(dispute?.execution_record, network?.rpc_url));
    if (dispute === null) return <NotShown onRetry={() => void refetch()} />;
    if (dispute === undefined)
        return error ? <Failure error={error} onRetry={() => void refetch()} /> : <Skeleton height="32rem" />;
    const found = onChain.data ?? null;
    const resolver = found?.config.resolver ?? network?.roles.resolver ?? undefined;
    const shown = found === null ? dispute : asOnChain(dispute, found);
    return (
        <>
            <p className={styles.subtitle}>
                {t.about} <UserText text={dispute.agent_name} />
            </p>
            {network?.rpc_url === null && (
                <Notice kind="warn" title={t.noNode}>
                    <p>{t.noNodeHint}</p>
                </Notice>
            )}
            {onChain.error && <Failure error={new Error(t.unreachable)} onRetry={() => void onChain.refetch()} />}
            <Outcome dispute={shown} bond={found === null ? null : found.dispute.bond} />
            {found !== null && <YourTurn found={found} wallet={wallet} />}
            <div className={styles.columns}>
                <aside className={styles.side} aria-label={t.state}>
                    <Facts dispute={shown} found={found} resolver={resolver} wallet={wallet} network={network} />
                    <Clocks dispute={shown} />
                </aside>
                <div className={styles.main}>
                    <Statements dispute={shown} found={found} />
                    {network?.rpc_url !== null && (
                        <Proof dispute={dispute} found={found} wallet={wallet} network={network} />
                    )}
                    <Actions dispute={shown} found={found} wallet={wallet} network={network} />
                </div>
            </div>
        </>
    );
}

const hashText = (hash: Parameters<typeof hexOf>[0]): string => `sha256:${hexOf(hash)}`;
const timeText = (seconds: bigint): string => new Date(Number(seconds) * 1_000).toISOString();

/** The dispute as the chain has it: the index may be behind, and the service may be wrong. */
function asOnChain(stated: Dispute, found: Case): Dispute {
    const { dispute } = found;
    const isAnswered = dispute.answeredAtUnixS !== 0n;
    const isDecided = dispute.resolvedAtUnixS !== 0n;
    const hasReasons = dispute.resolutionHash.some((byte) => byte !== 0);
    return {
        ...stated,
        status: statusOf(found) ?? stated.status,
        amount_usdc: found.record.amount,
        evidence_hash: hashText(dispute.evidenceHash),
        evidence_uri: uriOf(dispute.evidenceUri, dispute.evidenceUriLen),
        answer_hash: isAnswered ? hashText(dispute.answerHash) : null,
        answer_uri: isAnswered ? uriOf(dispute.answerUri, dispute.answerUriLen) : null,
        answered_at: isAnswered ? timeText(dispute.answeredAtUnixS) : null,
        resolved_at: isDecided ? timeText(dispute.resolvedAtUnixS) : null,
        resolution_hash: hasReasons ? hashText(dispute.resolutionHash) : null,
        slash_usdc: dispute.slashAmount,
        compensation_usdc: dispute.compensation,
        penalty_usdc: dispute.slashAmount - dispute.compensation,
    };
}

const said = words.outcome;

/** `bond`: `null` if the chain was not read. */
type OutcomeProps = { dispute: Dispute; bond: bigint | null };

function Outcome({ dispute: { status, amount_usdc, compensation_usdc, penalty_usdc }, bond }: OutcomeProps) {
    if (status === 'open') return null;
    if (status === 'upheld') {
        return (
            <Notice kind="good" title={said.upheld}>
                <p>{said.upheldHint(compensation_usdc, amount_usdc, penalty_usdc)}</p>
            </Notice>
        );
    }
    return (
        <Notice title={said[status]}>
            <p>
                {said.why[status]}
                {compensation_usdc > 0n ? said.noResolver(compensation_usdc, amount_usdc) : said.kept}{' '}
                {status === 'abusive' ? said.bondToCreator(bond) : said.bondBack(bond)} {said.final}
            </p>
        </Notice>
    );
}

type StatementsProps = { dispute: Dispute; found: Case | null };

const Statements = ({ dispute, found }: StatementsProps) => (
    <>
        <Statement
            title={t.caller}
            by={dispute.caller}
            at={dispute.raised_at}
            hash={dispute.evidence_hash}
            uri={dispute.evidence_uri}
            isOnChain={found !== null}
        />
        {dispute.answer_hash !== null && dispute.answered_at !== null ? (
            <Statement
                title={t.creator}
                by={dispute.creator}
                at={dispute.answered_at}
                hash={dispute.answer_hash}
                uri={dispute.answer_uri}
                isOnChain={found !== null}
            />
        ) : (
            <section className="stack" aria-labelledby="no-answer">
                <h2 id="no-answer">{t.creator}</h2>
                <p className="muted">{dispute.status === 'open' ? t.noAnswerYet : t.noAnswer}</p>
            </section>
        )}
        {dispute.resolution_hash !== null && dispute.resolved_at !== null && (
            <Statement
                title={t.reasons}
                at={dispute.resolved_at}
                hash={dispute.resolution_hash}
                uri={found === null ? null : uriOf(found.dispute.resolutionUri, found.dispute.resolutionUriLen)}
                isOnChain={found !== null}
            />
        )}
    </>
);

const NotShown = ({ onRetry }: { onRetry: () => void }) => (
    <Notice kind="warn" title={t.notShown}>
        <p>{t.notShownHint}</p>
        <div>
            <Button onPress={onRetry}>{words.lookAgain}</Button>
        </div>
    </Notice>
);
