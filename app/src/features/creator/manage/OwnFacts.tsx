// What the chain says about the agent, in a box.

import type { Address } from '@solana/kit';
import type { ReactNode } from 'react';

import { requiredCollateral } from '../../../chain/collateral';
import type { Schemas } from '../../../shared/api/client';
import { promiseText } from '../../../shared/cover';
import { formatCount, formatMs } from '../../../shared/figures';
import { formatUsdc } from '../../../shared/money';
import { Address as ShownAddress } from '../../../shared/ui/Address';
import { Badge } from '../../../shared/ui/Badge';
import { Time } from '../../../shared/ui/Time';
import type { Agent } from '../../agent';
import { coverText } from '../cover';
import { stateOf } from '../reasons';
import { statusOf } from '../rows';
import styles from './Manage.module.css';
import type { Owned } from './useManaging';

export type OwnFactsProps = {
    agentId: Address;
    chain: Owned;
    metrics: Agent['metrics'] | undefined;
    /** `null`: the service does not say it. */
    earned: bigint | null;
    network: Schemas['NetworkResponse'];
};

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
    <div className={styles.fact}>
        <dt>{name}</dt>
        <dd className="number">{children}</dd>
    </div>
);

export function OwnFacts({ agentId, chain: { listing, tiers }, metrics, earned, network }: OwnFactsProps) {
    const { badge, kind } = stateOf(statusOf(listing.status), null, listing.suspended !== 0);
    const explorer = network.explorer.account.replace('{address}', agentId);
    return (
        <aside aria-label="What the chain says" className={styles.facts}>
            <p className="row">
                <Badge kind={kind}>{badge}</Badge>
            </p>
            <dl className={styles.list}>
                <Fact name="Price">{formatUsdc(listing.price)} USDC</Fact>
                <Fact name="Answers within">{formatMs(listing.timeoutSeconds * 1_000)}</Fact>
                <Fact name="Signs each call">{listing.binding === 1 ? 'Yes' : 'Only the result'}</Fact>
                <Fact name="Promised cover">{promiseText(listing.minCover)}</Fact>
                <Fact name="Collateral">{formatUsdc(listing.collateral)} USDC</Fact>
                <Fact name="Needed at its price">{formatUsdc(requiredCollateral(tiers, listing))} USDC</Fact>
                {metrics && (
                    <Fact name="Cover">{coverText(metrics.free_collateral_usdc, metrics.amount_at_risk_usdc)}</Fact>
                )}
                {listing.slashedTotal > 0n && (
                    <Fact name="Taken by disputes">{formatUsdc(listing.slashedTotal)} USDC</Fact>
                )}
                {earned !== null && <Fact name="Earned">{formatUsdc(earned)} USDC</Fact>}
                <Fact name="Fees of the marketplace">{formatUsdc(listing.platformFeesTotal)} USDC</Fact>
                <Fact name="Completed">{formatCount(Number(listing.completedExecutions))}</Fact>
                <Fact name="Failed">{formatCount(Number(listing.failedExecutions))}</Fact>
                {listing.unprovedFailures > 0n && (
                    <Fact name="Reported as failed">
                        {formatCount(Number(listing.unprovedFailures))}, not proved, not counted
                    </Fact>
                )}
                <Fact name="Expired">{formatCount(Number(listing.expiredExecutions))}</Fact>
                <Fact name="Open executions">{formatCount(listing.openExecutions)}</Fact>
                <Fact name="Disputes">
                    {formatCount(Number(listing.disputedExecutions))}
                    {listing.openDisputes > 0 && `, ${formatCount(listing.openDisputes)} open`}
                </Fact>
                <Fact name="Listed">
                    <Time iso={new Date(Number(listing.createdAtUnixS) * 1_000).toISOString()} />
                </Fact>
                <Fact name="Agent">
                    <ShownAddress value={agentId} what="agent address" href={explorer} />
                </Fact>
            </dl>
        </aside>
    );
}
