// The facts of a dispute: who, about what, how much, and the transactions of it.

import { Link } from '@tanstack/react-router';

import { NOBODY } from '../../chain/market';
import { accountLink, transactionLink } from '../../shared/explorer';
import type { Schemas } from '../../shared/api/client';
import { formatUsdc } from '../../shared/money';
import { short } from '../../shared/text/short';
import { Address } from '../../shared/ui/Address';
import { Badge } from '../../shared/ui/Badge';
import type { Case } from './chain/case';
import styles from './Disputes.module.css';
import type { Dispute } from './query';
import { type Part, STATUS_KINDS, STATUS_WORDS, endWord, partsOf } from './words';

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
            <h2 id="facts">Facts</h2>
            <dl className={styles.facts}>
                <dt>State</dt>
                <dd>
                    <Badge kind={STATUS_KINDS[status]}>{STATUS_WORDS[status]}</Badge>
                </dd>
                <dt>Paid for the call</dt>
                <dd className="number">{formatUsdc(amount_usdc)} USDC</dd>
                {found !== null && (
                    <>
                        <dt>Bond</dt>
                        <dd className="number">{formatUsdc(found.dispute.bond)} USDC</dd>
                    </>
                )}
                {(status === 'upheld' || dispute.compensation_usdc > 0n) && (
                    <>
                        <dt>Back to the caller</dt>
                        <dd className="number">{formatUsdc(dispute.compensation_usdc)} USDC</dd>
                        <dt>Penalty</dt>
                        <dd className="number">{formatUsdc(dispute.penalty_usdc)} USDC</dd>
                    </>
                )}
                <dt>Agent</dt>
                <dd>
                    <Link to="/agents/$agentId" params={{ agentId: agent_id }} className="mono">
                        {short(agent_id)}
                    </Link>
                </dd>
                <Wallet name="Caller" part="caller" own={own} address={caller} />
                <Wallet name="Creator" part="creator" own={own} address={creator} />
                {resolver !== undefined && <Wallet name="Resolver" part="resolver" own={own} address={resolver} />}
                {found !== null && found.dispute.resolvedBy !== NOBODY && (
                    <>
                        <dt>Decision by</dt>
                        <dd>
                            <Address value={found.dispute.resolvedBy} what="address of who decided" />
                        </dd>
                    </>
                )}
                <dt>Dispute</dt>
                <dd>
                    <Address value={dispute.dispute} href={accountLink(network, dispute.dispute)} />
                </dd>
            </dl>
            <Transactions status={status} transactions={transactions} network={network} />
        </section>
    );
}

const Wallet = ({ name, part, own, address }: { name: string; part: Part; own: readonly Part[]; address: string }) => (
    <>
        <dt>{name}</dt>
        <dd>
            {own.includes(part) && <Badge kind="accent">You</Badge>}
            <Address value={address} what={`address of the ${part}`} />
        </dd>
    </>
);

const NAMES = { raised: 'Raised', answered: 'Answered' } as const;

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
        <dl className={styles.facts} aria-label="Transactions">
            {known.map(({ step, signature }) => (
                <TransactionRow
                    key={step}
                    name={step === 'resolved' ? endWord(status) : NAMES[step]}
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
            <Address value={signature} what="signature" href={href} />
        </dd>
    </>
);
