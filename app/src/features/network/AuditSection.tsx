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
import { words } from './words';

const { audit: a, digest: d } = words;

export const AuditSection = ({ status: { last_audit: report, digest } }: { status: Schemas['StatusResponse'] }) => (
    <>
        <Section title={a.title}>
            <Report audit={readAudit(report)} />
        </Section>
        <Section title={d.title}>
            <Digest digest={digest} />
        </Section>
    </>
);

const COLUMNS = [
    { name: a.check, cell: ({ name }: AuditCheck) => <UserText text={name} /> },
    { name: a.compared, cell: ({ compared }: AuditCheck) => formatCount(compared), isNumber: true },
    { name: a.unproven, cell: ({ unproven }: AuditCheck) => formatCount(unproven), isNumber: true },
    {
        name: a.result,
        cell: ({ faults, isComplete }: AuditCheck) => (
            <div>
                <Badge kind={faults > 0 ? 'bad' : isComplete ? 'good' : 'plain'}>
                    {faults > 0 ? a.faults(faults) : isComplete ? a.ok : a.continues}
                </Badge>
            </div>
        ),
    },
] as const;

function Report({ audit }: { audit: AuditReport | null }) {
    if (audit === null) {
        return <p className="muted">{a.none}</p>;
    }
    const { isOk, isComplete, at, slot, source, witness, checks, faults } = audit;
    return (
        <>
            <Figures>
                <Figure name={a.result}>
                    <Badge kind={isOk ? 'good' : 'bad'}>{isOk ? a.ok : a.wrong}</Badge>
                </Figure>
                <Figure name={a.when}>{at === null ? words.unknown : <Time iso={at} />}</Figure>
                <Figure name={a.slot}>{formatCount(slot)}</Figure>
                <Figure name={a.node}>
                    <UserText text={source} />
                </Figure>
                <Figure name={a.secondNode}>{witness === null ? a.noSecond : <UserText text={witness} />}</Figure>
            </Figures>
            {!isComplete && <p className="muted">{a.incomplete}</p>}
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
                <Table caption={a.checks} columns={COLUMNS} rows={checks} rowKey={({ name }) => name} />
            )}
        </>
    );
}

function Digest({ digest }: { digest: Schemas['DigestAnswer'] | null }) {
    const { data: network } = useQuery(networkQuery);
    if (digest === null) return <p className="muted">{d.pending}</p>;
    return (
        <>
            <p>{d.about}</p>
            <Figures>
                <Figure name={d.slot}>{formatCount(digest.slot)}</Figure>
                <Figure name={d.accounts}>{formatCount(digest.accounts)}</Figure>
                <Figure name={d.hash} isWide>
                    <span className={styles.hash}>{digest.checksum}</span>{' '}
                    <Copy text={digest.checksum} what={d.hashCopy} />
                </Figure>
            </Figures>
            {network !== undefined && (
                <Command text={`crtx audit --rpc-url ${network.rpc_url ?? 'YOUR_NODE'} --url ${network.base_url}`} />
            )}
            <p className="small muted">{d.hint}</p>
        </>
    );
}
