// The listing of the agent: what the chain says about it, and the ways to change and test it.

import type { Address } from '@solana/kit';
import { Link } from '@tanstack/react-router';

import { requiredCollateral } from '../../../chain/collateral';
import type { Schemas } from '../../../shared/api/client';
import { accountLink } from '../../../shared/explorer';
import { promiseText } from '../../../shared/cover';
import { formatCount, formatMs } from '../../../shared/figures';
import { formatUsdc } from '../../../shared/money';
import { Address as ShownAddress } from '../../../shared/ui/Address';
import { Badge } from '../../../shared/ui/Badge';
import { buttonClass } from '../../../shared/ui/Button';
import { Figure, Figures } from '../../../shared/ui/Figures';
import { Panel } from '../../../shared/ui/Panel';
import { Time } from '../../../shared/ui/Time';
import type { Agent } from '../../agent';
import { coverText } from '../cover';
import { editPath, testPath } from '../paths';
import { stateOf } from '../reasons';
import { statusOf } from '../rows';
import type { Owned } from './useManaging';
import { words } from './words';

export type OwnFactsProps = {
    agentId: Address;
    chain: Owned;
    metrics: Agent['metrics'] | undefined;
    /** `null`: the service does not say it. */
    earned: bigint | null;
    network: Schemas['NetworkResponse'];
};

export function OwnFacts({ agentId, chain: { listing, tiers }, metrics, earned, network }: OwnFactsProps) {
    const status = statusOf(listing.status);
    const { badge, kind } = stateOf(status, null, listing.suspended !== 0);
    const explorer = accountLink(network, agentId);
    return (
        <Panel title={words.listing.title} beside={<Badge kind={kind}>{badge}</Badge>}>
            {status !== 'delisted' && (
                <p className="row">
                    <Link to={editPath(agentId)} className={buttonClass()}>
                        {words.listing.edit}
                    </Link>
                    <Link to={testPath(agentId)} className={buttonClass()}>
                        {words.listing.test}
                    </Link>
                </p>
            )}
            <Figures>
                <Figure name="Price">{formatUsdc(listing.price)} USDC</Figure>
                <Figure name="Answers within">{formatMs(listing.timeoutSeconds * 1_000)}</Figure>
                <Figure name="Signs each call">{listing.binding === 1 ? 'Yes' : 'Only the result'}</Figure>
                <Figure name="Promised cover">{promiseText(listing.minCover)}</Figure>
                <Figure name="Collateral">{formatUsdc(listing.collateral)} USDC</Figure>
                <Figure name="Needed at its price">{formatUsdc(requiredCollateral(tiers, listing))} USDC</Figure>
                {metrics && (
                    <Figure name="Cover">{coverText(metrics.free_collateral_usdc, metrics.amount_at_risk_usdc)}</Figure>
                )}
                {listing.slashedTotal > 0n && (
                    <Figure name="Taken by disputes">{formatUsdc(listing.slashedTotal)} USDC</Figure>
                )}
                {earned !== null && <Figure name="Earned">{formatUsdc(earned)} USDC</Figure>}
                <Figure name="Fees of the marketplace">{formatUsdc(listing.platformFeesTotal)} USDC</Figure>
                <Figure name="Completed">{formatCount(Number(listing.completedExecutions))}</Figure>
                <Figure name="Failed">{formatCount(Number(listing.failedExecutions))}</Figure>
                {listing.unprovedFailures > 0n && (
                    <Figure name="Reported as failed">
                        {formatCount(Number(listing.unprovedFailures))}, not proved, not counted
                    </Figure>
                )}
                <Figure name="Expired">{formatCount(Number(listing.expiredExecutions))}</Figure>
                <Figure name="Open executions">{formatCount(listing.openExecutions)}</Figure>
                <Figure name="Disputes">
                    {formatCount(Number(listing.disputedExecutions))}
                    {listing.openDisputes > 0 && `, ${formatCount(listing.openDisputes)} open`}
                </Figure>
                <Figure name="Listed">
                    <Time iso={new Date(Number(listing.createdAtUnixS) * 1_000).toISOString()} />
                </Figure>
                <Figure name="Agent">
                    <ShownAddress value={agentId} what="agent address" href={explorer} />
                </Figure>
            </Figures>
        </Panel>
    );
}
