// What the dispute is about: the result that was paid for, and the check of it against the chain. The service shows an
// execution to its caller alone, so creator and resolver see it here, from the record on the chain.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, Suspense, useMemo } from 'react';

import { hexOf } from '../../chain/accounts';
import { StoredSettler } from '../../chain/stored';
import type { Schemas } from '../../shared/api/client';
import { accountLink } from '../../shared/explorer';
import { contentPath } from '../../shared/content';
import { splitOf } from '../../shared/fee';
import { formatMs } from '../../shared/figures';
import { Address } from '../../shared/ui/Address';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import { Time } from '../../shared/ui/Time';
import { type Claims, LazyVerifyPanel, Result } from '../execution';
import type { Case } from './chain/case';
import styles from './Disputes.module.css';
import { contentQuery } from './evidence/read';
import type { Dispute } from './query';
import { words } from './words';

const t = words.proof;

export type ProofProps = {
    dispute: Dispute;
    found: Case | null;
    wallet: string;
    network: Schemas['NetworkResponse'] | undefined;
};

export function Proof({ dispute, found, wallet, network }: ProofProps) {
    return (
        <section className={styles.part} aria-labelledby="proof">
            <div className="stack">
                <h2 id="proof">{t.title}</h2>
                {wallet === dispute.caller && (
                    <p>
                        <Link to="/executions/$executionId" params={{ executionId: dispute.execution_id }}>
                            {t.own}
                        </Link>
                    </p>
                )}
                {found === null ? <Skeleton height="6rem" /> : <RecordFacts found={found} network={network} />}
            </div>
            {found !== null && network?.rpc_url && (
                <CheckedResult dispute={dispute} found={found} rpcUrl={network.rpc_url} />
            )}
        </section>
    );
}

const SETTLERS: Record<number, string> = {
    [StoredSettler.Caller]: t.settlers.caller,
    [StoredSettler.Creator]: t.settlers.creator,
    [StoredSettler.Gateway]: t.settlers.service,
};

const RecordFacts = ({
    found: { record, recordAddress, agent },
    network,
}: {
    found: Case;
    network: ProofProps['network'];
}) => (
    <dl className={styles.pairs}>
        <Pair name={t.record}>
            <Address value={recordAddress} href={accountLink(network, recordAddress)} />
        </Pair>
        <Pair name={t.opened}>
            <Time iso={timeOf(record.openedAtUnixS)} />
        </Pair>
        <Pair name={t.finished}>
            <Time iso={timeOf(record.finishedAtUnixS)} />
        </Pair>
        <Pair name={t.took}>{formatMs(record.executionTimeMs)}</Pair>
        <Pair name={t.settledBy}>{SETTLERS[record.settledBy] ?? t.settlers.unknown}</Pair>
        <Pair name={t.signedFor}>{record.binding === 1 ? t.thisCall : t.itsContent}</Pair>
        {agent !== null && <Pair name={t.collateral}>{words.usdc(agent.collateral)}</Pair>}
        {agent !== null && <Pair name={t.disputed}>{words.usdc(agent.disputedAmount)}</Pair>}
    </dl>
);

const Pair = ({ name, children }: { name: string; children: ReactNode }) => (
    <div>
        <dt>{name}</dt>
        <dd className="number">{children}</dd>
    </div>
);

const timeOf = (seconds: bigint): string => new Date(Number(seconds) * 1_000).toISOString();

function CheckedResult({ dispute, found, rpcUrl }: { dispute: Dispute; found: Case; rpcUrl: string }) {
    const hash = `sha256:${hexOf(found.record.resultHash)}`;
    const content = useQuery(contentQuery(hash));
    const text = useMemo(() => (content.data?.state === 'whole' ? textOf(content.data.bytes) : null), [content.data]);
    if (content.error) return <Failure error={content.error} onRetry={() => void content.refetch()} />;
    if (content.data === undefined) return <Skeleton height="12rem" />;
    return (
        <>
            {text !== null ? (
                <Result text={text} executionId={dispute.execution_id} />
            ) : (
                <Notice kind="warn" title={t.noResult}>
                    <p>{content.data.state === 'missing' ? t.missing : t.altered}</p>
                </Notice>
            )}
            <Suspense fallback={<Skeleton height="8rem" />}>
                <LazyVerifyPanel execution={claimsOf(dispute, found, text)} rpcUrl={rpcUrl} />
            </Suspense>
        </>
    );
}

const textOf = (bytes: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

const STATUSES = {
    open: 'disputed',
    upheld: 'failed',
    rejected: 'completed',
    expired: 'completed',
    cancelled: 'completed',
    abusive: 'completed',
} as const;

/** What the service states about the dispute is checked; what it does not state comes from the record itself. */
function claimsOf(dispute: Dispute, { record, recordAddress }: Case, result: string | null): Claims {
    const hash = `sha256:${hexOf(record.resultHash)}`;
    const { creator, platform } = splitOf(record.amount, record.feeBps);
    return {
        execution_id: dispute.execution_id,
        agent_id: dispute.agent_id,
        status: STATUSES[dispute.status],
        result,
        result_hash: hash,
        // A compensation without a decision does not change what the execution cost.
        cost_usdc: dispute.amount_usdc - (dispute.status === 'upheld' ? dispute.compensation_usdc : 0n),
        creator_amount_usdc: creator,
        platform_amount_usdc: platform,
        tokens_used: record.tokensReported === 1 ? record.tokensUsed : null,
        execution_time_ms: record.executionTimeMs,
        ipfs_url: new URL(contentPath(hash), window.location.origin).href,
        on_chain_record: new URL(`/${recordAddress}`, window.location.origin).href,
    };
}
