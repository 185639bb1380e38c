// What the service pays, and what it does so that nothing stays open.

import type { Schemas } from '../../shared/api/client';
import { formatCount } from '../../shared/figures';
import { formatSol } from '../../shared/money';
import { Badge, type BadgeProps } from '../../shared/ui/Badge';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Table } from '../../shared/ui/Table';
import { Time } from '../../shared/ui/Time';
import { RoleHolder } from '../market';
import { Section } from './Section';
import { words } from './words';

const w = words.service;

type Status = Schemas['StatusResponse'];
type Chore = Schemas['ChoreStatus'] & { readonly name: string };

export const ServiceSection = ({ status: { fee_payer, housekeeping } }: { status: Status }) => (
    <>
        <Section title={w.payer}>
            <FeePayer payer={fee_payer} />
        </Section>
        <Section title={w.chores}>
            <p>{w.choresAbout}</p>
            <Table
                caption={w.choresTable}
                columns={COLUMNS}
                rows={choresOf(housekeeping)}
                rowKey={({ name }) => name}
            />
        </Section>
    </>
);

const STATES: Record<string, { kind: BadgeProps['kind']; text: string }> = {
    ok: { kind: 'good', text: w.ok },
    low: { kind: 'warn', text: w.low },
    empty: { kind: 'bad', text: w.empty },
};

function FeePayer({ payer }: { payer: Status['fee_payer'] }) {
    if (payer === null) return <p className="muted">{w.unread}</p>;
    const { kind, text } = STATES[payer.state] ?? { kind: 'plain', text: payer.state };
    return (
        <Figures>
            <Figure name={w.account}>
                <RoleHolder address={payer.address} />
            </Figure>
            <Figure name={w.balance}>{w.sol(formatSol(BigInt(payer.lamports)))}</Figure>
            <Figure name={w.state}>
                <Badge kind={kind}>{text}</Badge>
            </Figure>
            <Figure name={w.enoughFor}>{w.calls(payer.calls_left)}</Figure>
            <Figure name={w.priorityFee}>
                {payer.compute_unit_price === 0 ? w.noFee : w.unitPrice(payer.compute_unit_price)}
            </Figure>
            <Figure name={w.read}>
                <Time iso={payer.at} />
            </Figure>
        </Figures>
    );
}

const choresOf = (housekeeping: Status['housekeeping']): Chore[] => [
    { name: w.refunds, ...housekeeping.refunds },
    { name: w.closings, ...housekeeping.closings },
    { name: w.disputes, ...housekeeping.expired_disputes },
    { name: w.announcements, ...housekeeping.announcements },
];

const COLUMNS = [
    { name: w.task, cell: ({ name }: Chore) => name },
    { name: w.done, cell: ({ actions }: Chore) => formatCount(actions), isNumber: true },
    { name: w.fees, cell: ({ fees_lamports }: Chore) => formatSol(BigInt(fees_lamports)), isNumber: true },
    {
        name: w.rent,
        cell: ({ rent_returned_lamports }: Chore) => formatSol(BigInt(rent_returned_lamports)),
        isNumber: true,
    },
] as const;
