// Evidence by its hash: asked of the service as bytes, and hashed in this browser.

import { queryOptions } from '@tanstack/react-query';

import { ApiError, offline } from '../../../shared/api/client';
import { contentPath } from '../../../shared/content';
import { words } from '../words';
import { hashOf } from './store';

export type Fetched =
    | { readonly state: 'whole'; readonly bytes: Uint8Array<ArrayBuffer> }
    /** Other bytes than the hash says. */
    | { readonly state: 'altered'; readonly found: string }
    /** Nobody has stored it at this service. */
    | { readonly state: 'missing' };

/** The content never changes, but what is missing may come. */
export const contentQuery = (hash: string | null) =>
    queryOptions({
        queryKey: ['content', hash] as const,
        queryFn: () => fetchContent(hash ?? ''),
        enabled: hash !== null,
        staleTime: Infinity,
        retry: 1,
    });

async function fetchContent(hash: string): Promise<Fetched> {
    const answer = await fetch(contentPath(hash), { cache: 'no-store', credentials: 'omit' }).catch(() => {
        throw offline();
    });
    if (answer.status === 404) return { state: 'missing' };
    if (!answer.ok) throw new ApiError(answer.status, 'unknown', words.statement.answers(answer.status));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const found = await hashOf(bytes);
    return found === hash ? { state: 'whole', bytes } : { state: 'altered', found };
}
