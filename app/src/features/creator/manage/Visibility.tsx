// Whether callers find the agent, and why not: what the service says about its document.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../../shared/api/client';
import { plural } from '../../../shared/figures';
import { UserText } from '../../../shared/text/UserText';
import { Notice } from '../../../shared/ui/Notice';
import { Time } from '../../../shared/ui/Time';
import { RARELY_MS } from '../../../shared/seldom';
import { unlessFollowed } from '../../../shared/wallet/events';
import { listingQuery } from '../../agent';
import { editPath } from '../paths';
import { explanationOf, isAboutDocument } from '../reasons';
import { words } from './words';

const ASK_MS = 5_000;

export function Visibility({ agentId }: { agentId: Address }) {
    const { data: listing } = useQuery({
        ...listingQuery(agentId),
        // Who waits for the agent to be shown looks often.
        refetchInterval: ({ state }) => (state.data?.reason ? unlessFollowed(ASK_MS) : RARELY_MS),
    });
    const reason = listing?.reason ?? null;
    const document = listing?.document ?? null;
    if (reason === null || reason.code === 'delisted') return null;
    // A paused agent can be hidden too; the service names the pause.
    const isUnusable = reason.code === 'paused' && document !== null && !document.usable;
    if (reason.code === 'paused' && !isUnusable) return null;
    const { text, kind } = explanationOf(isUnusable ? 'document_pending' : reason.code);
    return (
        <Notice kind={kind} title={words.visibility.title}>
            <p>{text}</p>
            {isAboutDocument(reason.code) && (
                <p>
                    {words.visibility.says} <UserText text={reason.message} />
                </p>
            )}
            {document && !document.usable && <Attempts document={document} />}
            {(isAboutDocument(reason.code) || isUnusable) && (
                <p>
                    <Link to={editPath(agentId)}>{words.visibility.edit}</Link>
                </p>
            )}
        </Notice>
    );
}

const Attempts = ({ document: { uri, attempts, last_attempt_at: last } }: { document: Schemas['ListingDocument'] }) => (
    <p className="small muted">
        <UserText text={uri} />, {plural(attempts, 'attempt')}
        {last !== null && (
            <>
                {words.visibility.lastOne} <Time iso={last} />
            </>
        )}
    </p>
);
