// The facts of a dispute: who, about what, how much, and the transactions of it.

import { Link } from '@tanstack/react-router';

import { NOBODY } from '../../chain/market';
import { accountLink, transactionLink } from '../../shared/explorer';
import type { Schemas } from '../../shared/api/client';
import { short } from '../../shared/text/short';
import { Address } from '../../shared/ui/Address';
import { Badge } from '../../shared/ui/Badge';
import type { Case } from './chain/case';
import styles from './Disputes.module.css';
import type { Dispute } from './query';
import { type Part, STATUS_KINDS, partsOf } from './state';
import { words } from './words';

const t = words.facts;

type Network = Schemas['NetworkResponse'];

export type FactsProps = {
    dispute: Dispute;
    /** As the chain has it. */
    found: Case | null;
    resolver: string | undefined;
    wallet: string;
    network: Network | undefined;
};

export function Facts({ dispute, found, resolver, wallet, network }: FactsProps) {
    const own = partsOf(dispute, resolver, wallet);
    const { status, amount_usdc, agent_id, caller, creator, transactions } = dispute;
    return (
        <section className={styles.card} aria-labelledby="facts">
            <h2 id="facts">{t.title}</h2>
            <dl className={styles.facts}>
                <dt>{t.state}</dt>
                <dd>
                    <Badge kind={STATUS_KINDS[status]}>{words.statuses[status]}</Badge>
                </dd>
                <dt>{t.paid}</dt>
                <dd className="number">{words.usdc(amount_usdc)}</dd>
                {found !== null && (
                    <>
                        <dt>{t.bond}</dt>
                        <dd className="number">{words.usdc(found.dispute.bond)}</dd>
                    </>
                )}
                {(status === 'upheld' || dispute.compensation_usdc > 0n) && (
                    <>
                        <dt>{t.back}</dt>
                        <dd className="number">{words.usdc(dispute.compensation_usdc)}</dd>
                        <dt>{t.penalty}</dt>
                        <dd className="number">{words.usdc(dispute.penalty_usdc)}</dd>
                    </>
                )}
                <dt>{t.agent}</dt>
                <dd>
                    <Link to="/agents/$agentId" params={{ agentId: agent_id }} className="mono">
                        {short(agent_id)}
                    </Link>
                </dd>
                <Wallet part="caller" own={own} address={caller} />
                <Wallet part="creator" own={own} address={creator} />
                {resolver !== undefined && <Wallet part="resolver" own={own} address={resolver} />}
                {found !== null && found.dispute.resolvedBy !== NOBODY && (
                    <>
                        <dt>{t.decidedBy}</dt>
                        <dd>
                            <Address value={found.dispute.resolvedBy} what={t.decider} />
                        </dd>
                    </>
                )}
                <dt>{t.dispute}</dt>
                <dd>
                    <Address value={dispute.dispute} href={accountLink(network, dispute.dispute)} />
                </dd>
            </dl>
            <Transactions status={status} transactions={transactions} network={network} />
        </section>
    );
}

const Wallet = ({ part, own, address }: { part: Part; own: readonly Part[]; address: string }) => (
    <>
        <dt>{words.parts[part]}</dt>
        <dd>
            {own.includes(part) && <Badge kind="accent">{t.you}</Badge>}
            <Address value={address} what={t.addressOf[part]} />
        </dd>
    </>
);

function Transactions({
    status,
    transactions,
    network,
}: {
    status: Dispute['status'];
    transactions: Dispute['transactions'];
    network: Network | undefined;
}) {
    const known = (['raised', 'answered', 'resolved'] as const).flatMap((step) => {
        const signature = transactions?.[step];
        return signature ? [{ step, signature }] : [];
    });
    if (known.length === 0) return null;
    return (
        <dl className={styles.facts} aria-label={t.transactions}>
            {known.map(({ step, signature }) => (
                <TransactionRow
                    key={step}
                    name={step === 'resolved' ? words.ends[status] : t[step]}
                    signature={signature}
                    href={transactionLink(network, signature)}
                />
            ))}
        </dl>
    );
}

const TransactionRow = ({ name, signature, href }: { name: string; signature: string; href: string | undefined }) => (
    <>
        <dt>{name}</dt>
        <dd>
            <Address value={signature} what={t.signature} href={href} />
        </dd>
    </>
);
