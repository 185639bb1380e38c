// What the creator should do: answer disputes, look after hidden agents, add collateral, withdraw collateral.

import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { withdrawable } from '../../chain/collateral';
import type { OwnListings } from '../../chain/listing';
import { plural } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { Notice } from '../../shared/ui/Notice';
import type { Tab } from './manage/tabs';
import { OwnAgentLink } from './OwnAgentLink';
import { MY_DISPUTES } from './paths';
import { explanationOf, isAboutDocument } from './reasons';
import { type AgentRow, sumsOf } from './rows';
import { words } from './words';

export function Attention({ rows, chain }: { rows: readonly AgentRow[]; chain: OwnListings }) {
    const { openDisputes } = sumsOf(rows);
    const hidden = rows.filter(({ reason, status }) => status !== 'delisted' && reason && isAboutDocument(reason.code));
    const short = rows.filter(
        ({ status, collateral, required }) => status === 'paused' && required !== null && collateral < required,
    );
    const suspended = rows.filter(({ status, isSuspended }) => isSuspended && status !== 'delisted');
    const free = withdrawables(chain);
    return (
        <>
            {openDisputes > 0 && (
                <Notice
                    kind="warn"
                    title={words.attention.disputes(plural(openDisputes, 'dispute'), openDisputes === 1 ? 'is' : 'are')}
                >
                    <p>
                        {words.attention.disputesText} <Link to={MY_DISPUTES}>{words.attention.toDisputes}</Link>
                    </p>
                </Notice>
            )}
            {hidden.length > 0 && (
                <Notice kind="bad" title={words.attention.hidden}>
                    <Agents rows={hidden}>{({ reason }) => reason && explanationOf(reason.code).text}</Agents>
                </Notice>
            )}
            {suspended.length > 0 && (
                <Notice kind="bad" title={words.attention.suspended}>
                    <Agents rows={suspended}>{() => words.attention.suspendedText}</Agents>
                </Notice>
            )}
            {short.length > 0 && (
                <Notice kind="warn" title={words.attention.paused}>
                    <Agents rows={short} tab="collateral">
                        {({ collateral, required }) => words.attention.needs(formatUsdc((required ?? 0n) - collateral))}
                    </Agents>
                </Notice>
            )}
            {free.size > 0 && (
                <Notice kind="good" title={words.attention.free}>
                    <Agents rows={rows.filter(({ agentId }) => free.has(agentId))} tab="leave">
                        {({ agentId }) => words.attention.freeText(formatUsdc(free.get(agentId) ?? 0n))}
                    </Agents>
                </Notice>
            )}
        </>
    );
}

type AgentsProps = {
    rows: readonly AgentRow[];
    /** Of the page of the agent, where the creator can do something about it. */
    tab?: Tab;
    children: (row: AgentRow) => ReactNode;
};

const Agents = ({ rows, tab, children }: AgentsProps) => (
    <ul className="stack">
        {rows.map((row) => (
            <li key={row.agentId}>
                <OwnAgentLink row={row} tab={tab} />: {children(row)}
            </li>
        ))}
    </ul>
);

/** What the creator can have back, by agent. */
const withdrawables = ({ listed, now }: OwnListings): ReadonlyMap<string, bigint> =>
    new Map(
        listed
            .map(({ address, listing }) => [address as string, withdrawable(listing, now)] as const)
            .filter(([, amount]) => amount > 0n),
    );
