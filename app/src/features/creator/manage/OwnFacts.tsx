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
                <Figure name={words.ownFacts.price}>{words.ownFacts.usdc(formatUsdc(listing.price))}</Figure>
                <Figure name={words.ownFacts.timeout}>{formatMs(listing.timeoutSeconds * 1_000)}</Figure>
                <Figure name={words.ownFacts.signsEachCall}>
                    {listing.binding === 1 ? words.ownFacts.yes : words.ownFacts.no}
                </Figure>
                <Figure name={words.ownFacts.promised}>{promiseText(listing.minCover)}</Figure>
                <Figure name={words.ownFacts.collateral}>{words.ownFacts.usdc(formatUsdc(listing.collateral))}</Figure>
                <Figure name={words.ownFacts.needed}>
                    {words.ownFacts.usdc(formatUsdc(requiredCollateral(tiers, listing)))}
                </Figure>
                {metrics && (
                    <Figure name={words.ownFacts.cover}>
                        {coverText(metrics.free_collateral_usdc, metrics.amount_at_risk_usdc)}
                    </Figure>
                )}
                {listing.slashedTotal > 0n && (
                    <Figure name={words.ownFacts.slashed}>
                        {words.ownFacts.usdc(formatUsdc(listing.slashedTotal))}
                    </Figure>
                )}
                {earned !== null && (
                    <Figure name={words.ownFacts.earned}>{words.ownFacts.usdc(formatUsdc(earned))}</Figure>
                )}
                <Figure name={words.ownFacts.fees}>{words.ownFacts.usdc(formatUsdc(listing.platformFeesTotal))}</Figure>
                <Figure name={words.ownFacts.completed}>{formatCount(Number(listing.completedExecutions))}</Figure>
                <Figure name={words.ownFacts.failed}>{formatCount(Number(listing.failedExecutions))}</Figure>
                {listing.unprovedFailures > 0n && (
                    <Figure name={words.ownFacts.reported}>
                        {words.ownFacts.unproved(formatCount(Number(listing.unprovedFailures)))}
                    </Figure>
                )}
                <Figure name={words.ownFacts.expired}>{formatCount(Number(listing.expiredExecutions))}</Figure>
                <Figure name={words.ownFacts.open}>{formatCount(listing.openExecutions)}</Figure>
                <Figure name={words.ownFacts.disputes}>
                    {formatCount(Number(listing.disputedExecutions))}
                    {listing.openDisputes > 0 && words.ownFacts.openDisputes(formatCount(listing.openDisputes))}
                </Figure>
                <Figure name={words.ownFacts.listed}>
                    <Time iso={new Date(Number(listing.createdAtUnixS) * 1_000).toISOString()} />
                </Figure>
                <Figure name={words.ownFacts.agent}>
                    <ShownAddress value={agentId} what={words.ownFacts.addressCopy} href={explorer} />
                </Figure>
            </Figures>
        </Panel>
    );
}
