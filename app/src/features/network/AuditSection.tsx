// Why the index can be believed: the report of its last audit, and the digest that anybody can compute again.

import { useQuery } from '@tanstack/react-query';

import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
import { formatCount } from '../../shared/figures';
import { UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import { Copy } from '../../shared/ui/Copy';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Table } from '../../shared/ui/Table';
import { Time } from '../../shared/ui/Time';
import { type AuditCheck, type AuditReport, readAudit } from './audit';
import { Command } from './Command';
import styles from './Network.module.css';
import { Section } from './Section';

export const AuditSection = ({ status: { last_audit: report, digest } }: { status: Schemas['StatusResponse'] }) => (
    <>
        <Section title="Audit">
            <Report audit={readAudit(report)} />
        </Section>
        <Section title="Digest">
            <Digest digest={digest} />
        </Section>
    </>
);

const COLUMNS = [
    { name: 'Check', cell: ({ name }: AuditCheck) => <UserText text={name} /> },
    { name: 'Compared', cell: ({ compared }: AuditCheck) => formatCount(compared), isNumber: true },
    { name: 'Not provable yet', cell: ({ unproven }: AuditCheck) => formatCount(unproven), isNumber: true },
    {
        name: 'Result',
        cell: ({ faults, isComplete }: AuditCheck) => (
            <div>
                <Badge kind={faults > 0 ? 'bad' : isComplete ? 'good' : 'plain'}>
                    {faults > 0 ? `${formatCount(faults)} wrong` : isComplete ? 'In order' : 'Goes on'}
                </Badge>
            </div>
        ),
    },
] as const;

function Report({ audit }: { audit: AuditReport | null }) {
    if (audit === null) {
        return (
            <p className="muted">
                There was no audit yet. The service compares its whole index with the chain once in a while, and shows
                the report here.
            </p>
        );
    }
    const { isOk, isComplete, at, slot, source, witness, checks, faults } = audit;
    return (
        <>
            <Figures>
                <Figure name="Result">
                    <Badge kind={isOk ? 'good' : 'bad'}>{isOk ? 'In order' : 'Something is wrong'}</Badge>
                </Figure>
                <Figure name="When">{at === null ? '–' : <Time iso={at} />}</Figure>
                <Figure name="At slot">{formatCount(slot)}</Figure>
                <Figure name="Node">
                    <UserText text={source} />
                </Figure>
                <Figure name="Second node">{witness === null ? 'none' : <UserText text={witness} />}</Figure>
            </Figures>
            {!isComplete && <p className="muted">A check did not reach its end. The next audit goes on from there.</p>}
            {faults.length > 0 && (
                <ul className="stack">
                    {faults.map((fault) => (
                        <li key={fault}>
                            <UserText text={fault} />
                        </li>
                    ))}
                </ul>
            )}
            {checks.length > 0 && (
                <Table caption="Checks of the last audit" columns={COLUMNS} rows={checks} rowKey={({ name }) => name} />
            )}
        </>
    );
}

function Digest({ digest }: { digest: Schemas['DigestAnswer'] | null }) {
    const { data: network } = useQuery(networkQuery);
    if (digest === null)
        return <p className="muted">The digest is computed for the first time. It is here in a moment.</p>;
    return (
        <>
            <p>
                One hash of every account of the program at a final slot. Any node has the same accounts, so anybody can
                check it:
            </p>
            <Figures>
                <Figure name="At slot">{formatCount(digest.slot)}</Figure>
                <Figure name="Accounts">{formatCount(digest.accounts)}</Figure>
                <Figure name="Hash" isWide>
                    <span className={styles.hash}>{digest.checksum}</span> <Copy text={digest.checksum} what="hash" />
                </Figure>
            </Figures>
            {network !== undefined && (
                <Command text={`crtx audit --rpc-url ${network.rpc_url ?? 'YOUR_NODE'} --url ${network.base_url}`} />
            )}
            <p className="small muted">
                Take a node that you trust. The command reads every account there, and believes nothing that this
                service says.
            </p>
        </>
    );
}
