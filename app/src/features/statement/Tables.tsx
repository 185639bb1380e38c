// The calls of a month by agent and by API key.

import type { TotalsGroup } from '../../shared/api/totals';
import { formatCount } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import { type Column, Table } from '../../shared/ui/Table';
import { words } from './words';

const FIGURES: readonly Column<TotalsGroup>[] = [
    { name: words.calls, cell: ({ executions }) => formatCount(executions), isNumber: true },
    { name: words.failed, cell: ({ failed }) => formatCount(failed), isNumber: true },
    { name: words.paid, cell: ({ paid_usdc }) => formatUsdc(paid_usdc), isNumber: true },
    { name: words.toCreators, cell: ({ creator_usdc }) => formatUsdc(creator_usdc), isNumber: true },
    { name: words.fees, cell: ({ platform_usdc }) => formatUsdc(platform_usdc), isNumber: true },
    { name: words.refunded, cell: ({ refunded_usdc }) => formatUsdc(refunded_usdc), isNumber: true },
];

const Named = ({ name, address }: { name: string | null | undefined; address: string }) => (
    <span>
        {name === null || name === undefined ? null : (
            <>
                <UserText text={name} />{' '}
            </>
        )}
        <span className="mono small muted" title={address}>
            {short(address)}
        </span>
    </span>
);

const AGENT: Column<TotalsGroup> = {
    name: words.agent,
    cell: ({ agent_id, agent_name }) => <Named name={agent_name} address={agent_id ?? ''} />,
};

export const AgentTable = ({ groups }: { groups: readonly TotalsGroup[] }) => (
    <Table
        caption={words.agentCaption}
        columns={[AGENT, ...FIGURES]}
        rows={groups}
        rowKey={({ agent_id }) => agent_id ?? ''}
    />
);

type KeyTableProps = { groups: readonly TotalsGroup[]; names: ReadonlyMap<string, string> };

export function KeyTable({ groups, names }: KeyTableProps) {
    const key: Column<TotalsGroup> = {
        name: words.key,
        cell: ({ session_public_key: address }) =>
            address === null ? words.walletItself : <Named name={names.get(address)} address={address} />,
    };
    return (
        <Table
            caption={words.keyCaption}
            columns={[key, ...FIGURES]}
            rows={groups}
            rowKey={({ session_public_key }) => session_public_key ?? ''}
        />
    );
}
