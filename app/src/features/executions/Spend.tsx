// Who spent it and on whom: the totals by API key and by agent, read when somebody unfolds them.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { formatCount } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import { Failure } from '../../shared/ui/Failure';
import { Skeleton } from '../../shared/ui/Skeleton';
import { type Column, Table } from '../../shared/ui/Table';
import styles from './Executions.module.css';
import { KeyName } from './KeyName';
import type { KeyNames } from './keyNames';
import type { ExecutionsSearch } from './search';
import type { TotalsGroup } from '../../shared/api/totals';
import { totalsQuery } from './totals';
import { words } from './words';

type SpendProps = {
    account: Address;
    search: ExecutionsSearch;
    names: KeyNames | undefined;
    /** Older executions than those of the totals are in the list. */
    isCut: boolean;
};

export function Spend(props: SpendProps) {
    const [isOpen, setOpen] = useState(false);
    const isCaller = props.search.role === undefined;
    return (
        <details className={styles.fold} open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
            <summary>{isCaller ? words.spend : words.earnings}</summary>
            {isOpen && (
                <div className={styles.spend}>
                    {props.isCut && <p className="small muted">{words.spendOfYear}</p>}
                    {isCaller && <By {...props} by="key" />}
                    <By {...props} by="agent" />
                </div>
            )}
        </details>
    );
}

function By({ account, search, names, by }: SpendProps & { by: 'key' | 'agent' }) {
    const { data, error, refetch } = useQuery(totalsQuery(account, by, search));
    const isCaller = search.role === undefined;
    const caption = by === 'key' ? words.byKeyCaption : isCaller ? words.byAgentCaption : words.earnedCaption;
    return (
        <section className="stack">
            <h3>{by === 'key' ? words.byKey : words.byAgent}</h3>
            {error && data === undefined && <Failure error={error} onRetry={() => void refetch()} />}
            {data === undefined && error === null && <Skeleton height="6rem" />}
            {data?.groups.length === 0 && <p className="muted">{words.nothingSpent}</p>}
            {data !== undefined && data.groups.length > 0 && (
                <Table
                    caption={caption}
                    columns={[by === 'key' ? keyColumn(names) : AGENT, ...FIGURES, isCaller ? PAID : EARNED]}
                    rows={data.groups}
                    rowKey={({ session_public_key, agent_id }) => session_public_key ?? agent_id ?? ''}
                    narrow="lines"
                />
            )}
            {data?.truncated === true && <p className="small muted">{words.truncated}</p>}
        </section>
    );
}

const keyColumn = (names: KeyNames | undefined): Column<TotalsGroup> => ({
    name: words.columns.key,
    cell: ({ session_public_key }) => <KeyName sessionKey={session_public_key} names={names} />,
    place: 'start',
});

const AGENT: Column<TotalsGroup> = {
    name: words.columns.agent,
    cell: ({ agent_id: agentId, agent_name: name }) =>
        agentId === null ? (
            words.unknown
        ) : (
            <Link to="/agents/$agentId" params={{ agentId }}>
                {name === null ? <span className="mono">{short(agentId)}</span> : <UserText text={name} />}
            </Link>
        ),
    place: 'start',
};

const FIGURES: readonly Column<TotalsGroup>[] = [
    { name: words.calls, cell: ({ executions }) => formatCount(executions), isNumber: true },
    { name: words.failedCalls, cell: ({ failed }) => formatCount(failed), isNumber: true },
];

const PAID: Column<TotalsGroup> = {
    name: words.columns.cost,
    cell: ({ paid_usdc }) => formatUsdc(paid_usdc),
    isNumber: true,
    place: 'end',
};

const EARNED: Column<TotalsGroup> = {
    name: words.columns.earned,
    cell: ({ creator_usdc }) => formatUsdc(creator_usdc),
    isNumber: true,
    place: 'end',
};
