// What the service pays, and what it does so that nothing stays open.

import type { Schemas } from '../../shared/api/client';
import { formatCount, plural } from '../../shared/figures';
import { formatSol } from '../../shared/money';
import { Badge, type BadgeProps } from '../../shared/ui/Badge';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Table } from '../../shared/ui/Table';
import { Time } from '../../shared/ui/Time';
import { RoleHolder } from '../market';
import { Section } from './Section';

type Status = Schemas['StatusResponse'];
type Chore = Schemas['ChoreStatus'] & { readonly name: string };

export const ServiceSection = ({ status: { fee_payer, housekeeping } }: { status: Status }) => (
    <>
        <Section title="Fee payer">
            <FeePayer payer={fee_payer} />
        </Section>
        <Section title="Housekeeping">
            <p>Anybody may do this for the market. The service does it, so that nobody has to.</p>
            <Table
                caption="What the service did for the market"
                columns={COLUMNS}
                rows={choresOf(housekeeping)}
                rowKey={({ name }) => name}
            />
        </Section>
    </>
);

const STATES: Record<string, { kind: BadgeProps['kind']; text: string }> = {
    ok: { kind: 'good', text: 'Enough' },
    low: { kind: 'warn', text: 'Low: the operator should send SOL' },
    empty: { kind: 'bad', text: 'Empty: new calls with API keys are refused' },
};

function FeePayer({ payer }: { payer: Status['fee_payer'] }) {
    if (payer === null) return <p className="muted">The service has not read the balance of its account yet.</p>;
    const { kind, text } = STATES[payer.state] ?? { kind: 'plain', text: payer.state };
    return (
        <Figures>
            <Figure name="Account">
                <RoleHolder address={payer.address} />
            </Figure>
            <Figure name="Balance">{formatSol(BigInt(payer.lamports))} SOL</Figure>
            <Figure name="State">
                <Badge kind={kind}>{text}</Badge>
            </Figure>
            <Figure name="Enough for">{plural(payer.calls_left, 'call')}</Figure>
            <Figure name="Priority fee">
                {payer.compute_unit_price === 0
                    ? 'None'
                    : `${formatCount(payer.compute_unit_price)} micro-lamports a compute unit`}
            </Figure>
            <Figure name="Read">
                <Time iso={payer.at} />
            </Figure>
        </Figures>
    );
}

const choresOf = (housekeeping: Status['housekeeping']): Chore[] => [
    { name: 'Refunds of expired executions', ...housekeeping.refunds },
    { name: 'Closed records', ...housekeeping.closings },
    { name: 'Disputes that nobody decided in time', ...housekeeping.expired_disputes },
    { name: 'Announcements that were due', ...housekeeping.announcements },
];

const COLUMNS = [
    { name: 'Task', cell: ({ name }: Chore) => name },
    { name: 'Done', cell: ({ actions }: Chore) => formatCount(actions), isNumber: true },
    { name: 'Fees, SOL', cell: ({ fees_lamports }: Chore) => formatSol(BigInt(fees_lamports)), isNumber: true },
    {
        name: 'Rent given back, SOL',
        cell: ({ rent_returned_lamports }: Chore) => formatSol(BigInt(rent_returned_lamports)),
        isNumber: true,
    },
] as const;
