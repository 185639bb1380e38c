// The description of the API, as the service serves it.

import { queryOptions } from '@tanstack/react-query';

import { ApiError, sendAsIs } from '../../shared/api/client';
import { readReference } from './reference';
import { readStart } from './request';
import { apiWords as words } from './apiWords';

const MAX_BYTES = 8 * 1024 * 1024;

export const referenceQuery = queryOptions({
    queryKey: ['openapi'] as const,
    queryFn: async ({ signal }) => {
        const answer = await sendAsIs(new Request('/openapi.json', { credentials: 'omit', signal }));
        const { text, isCut } = await readStart(answer, MAX_BYTES);
        if (!answer.ok || isCut) throw new ApiError(answer.status, 'unknown', words.reference.unreadable);
        return readReference(JSON.parse(text));
    },
    // It changes with the program alone.
    staleTime: Infinity,
});
