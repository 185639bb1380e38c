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
                    title={`${plural(openDisputes, 'dispute')} against you ${openDisputes === 1 ? 'is' : 'are'} open`}
                >
                    <p>
                        Answer with evidence within 24 hours: from then on a dispute can be upheld without your answer.{' '}
                        <Link to={MY_DISPUTES}>See the disputes</Link>
                    </p>
                </Notice>
            )}
            {hidden.length > 0 && (
                <Notice kind="bad" title="Callers cannot find these agents">
                    <Agents rows={hidden}>{({ reason }) => reason && explanationOf(reason.code).text}</Agents>
                </Notice>
            )}
            {suspended.length > 0 && (
                <Notice kind="bad" title="Suspended by the marketplace">
                    <Agents rows={suspended}>
                        {() => 'takes no new calls until the admin of the marketplace resumes it.'}
                    </Agents>
                </Notice>
            )}
            {short.length > 0 && (
                <Notice kind="warn" title="Paused, with too little collateral to resume">
                    <Agents rows={short} tab="collateral">
                        {({ collateral, required }) => `needs ${formatUsdc((required ?? 0n) - collateral)} USDC more.`}
                    </Agents>
                </Notice>
            )}
            {free.size > 0 && (
                <Notice kind="good" title="Collateral that you can withdraw">
                    <Agents rows={rows.filter(({ agentId }) => free.has(agentId))} tab="leave">
                        {({ agentId }) => `${formatUsdc(free.get(agentId) ?? 0n)} USDC.`}
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
