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
import { words } from './words';

/** The listing was closed, or never existed: the index remembers which. */
export function Gone({ agentId }: { agentId: Address }) {
    const { data: listing, error, isPending } = useQuery(listingQuery(agentId));
    if (isPending) return <Skeleton height="6rem" />;
    const isUnknown = listing === undefined && error instanceof ApiError && error.status === 404;
    return (
        <Notice title={isUnknown ? words.notManaged.none : words.notManaged.closed}>
            <p>{isUnknown ? words.notManaged.noneText : words.notManaged.closedText}</p>
            <p>
                <Link to="/creator">{words.notManaged.all}</Link>
            </p>
        </Notice>
    );
}

export const OfAnother = ({ agentId, creator }: { agentId: Address; creator: Address }) => (
    <Notice kind="warn" title={words.notManaged.otherOwner}>
        <p>
            {words.notManaged.listedBy} <span className="mono">{short(creator, 6)}</span>
            {words.notManaged.connect}
        </p>
        <p>
            <Link to="/agents/$agentId" params={{ agentId }}>
                {words.notManaged.look}
            </Link>
        </p>
    </Notice>
);

export const NoSuchAgent = () => (
    <Page title={words.notManaged.none}>
        <p>{words.notManaged.badAddress}</p>
        <p>
            <Link to="/creator" className={buttonClass('primary')}>
                {words.notManaged.all}
            </Link>
        </p>
    </Page>
);
