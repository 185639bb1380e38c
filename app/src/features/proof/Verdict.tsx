// The one sentence on top of a proof.

import { StoredExecutionStatus as Status } from '../../chain/stored';
import { formatUsdc } from '../../shared/money';
import { Notice } from '../../shared/ui/Notice';
import { type ChainEvidence, need } from '../execution';
import type { ChosenNode } from './node';
import styles from './Proof.module.css';
import type { Report } from './report';
import { verdictTitle, words } from './words';

export type VerdictProps = { chain: ChainEvidence; report: Report; node: ChosenNode };

export const Verdict = ({ chain, report, node }: VerdictProps) => (
    <Notice kind={kindOf(report, node)} title={verdictTitle(report.verdict, node.source)}>
        <p>{sentence(chain, report)}</p>
        <p className={`small ${styles.url}`}>{words.readFrom(node.url)}</p>
    </Notice>
);

function kindOf({ verdict }: Report, { source }: ChosenNode): 'good' | 'warn' | 'bad' {
    if (verdict === 'failed') return 'bad';
    return verdict === 'verified' && source !== 'link' ? 'good' : 'warn';
}

function sentence(chain: ChainEvidence, { verdict, groups, isRefund }: Report): string {
    if (verdict === 'failed') {
        return words.failed(groups.filter(({ state }) => state === 'failed').map(({ name }) => name));
    }
    const record = need(chain.record);
    const price = formatUsdc(record.amount);
    if (isRefund) return words.refunded(price);
    if (verdict === 'partly') return words.paidUnseen(price);
    if (record.status === Status.Disputed) return words.disputed(price);
    if (record.status !== Status.Overturned || chain.dispute === null) return words.paid(price);
    return words.overturned(formatUsdc(need(chain.dispute).compensation));
}
