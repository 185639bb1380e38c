// What stands in place of an agent that the connected wallet cannot manage.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { ApiError } from '../../../shared/api/client';
import { short } from '../../../shared/text/short';
import { buttonClass } from '../../../shared/ui/Button';
import { Notice } from '../../../shared/ui/Notice';
import { Page } from '../../../shared/ui/Page';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { listingQuery } from '../../agent';

/** The listing was closed, or never existed: the index remembers which. */
export function Gone({ agentId }: { agentId: Address }) {
    const { data: listing, error, isPending } = useQuery(listingQuery(agentId));
    if (isPending) return <Skeleton height="6rem" />;
    const isUnknown = listing === undefined && error instanceof ApiError && error.status === 404;
    return (
        <Notice title={isUnknown ? 'There is no such agent' : 'This agent is closed'}>
            <p>
                {isUnknown
                    ? 'Nobody has listed an agent at this address.'
                    : 'Its accounts are deleted, and their rent went back to its creator.'}
            </p>
            <p>
                <Link to="/creator">See all my agents</Link>
            </p>
        </Notice>
    );
}

export const OfAnother = ({ agentId, creator }: { agentId: Address; creator: Address }) => (
    <Notice kind="warn" title="This agent belongs to another wallet">
        <p>
            It was listed by <span className="mono">{short(creator, 6)}</span>. Connect that wallet, or change the
            account in your wallet.
        </p>
        <p>
            <Link to="/agents/$agentId" params={{ agentId }}>
                See the agent
            </Link>
        </p>
    </Notice>
);

export const NoSuchAgent = () => (
    <Page title="There is no such agent">
        <p>This is not the address of an agent.</p>
        <p>
            <Link to="/creator" className={buttonClass('primary')}>
                See all my agents
            </Link>
        </p>
    </Page>
);
