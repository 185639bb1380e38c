// The description of the API, as the service serves it.

import { queryOptions } from '@tanstack/react-query';

import { ApiError, sendAsIs } from '../../shared/api/client';
import { readReference } from './reference';
import { readStart } from './request';

const MAX_BYTES = 8 * 1024 * 1024;

export const referenceQuery = queryOptions({
    queryKey: ['openapi'] as const,
    queryFn: async ({ signal }) => {
        const offline = (): never => {
            throw new ApiError(0, 'offline', 'The service does not answer. Check the connection, then try again.');
        };
        const answer = await sendAsIs(new Request('/openapi.json', { credentials: 'omit', signal })).catch(offline);
        const { text, isCut } = await readStart(answer, MAX_BYTES);
        if (!answer.ok || isCut) throw new ApiError(answer.status, 'unknown', 'The description of the API cannot be read.');
        return readReference(JSON.parse(text));
    },
    // It changes with the program alone.
    staleTime: Infinity,
});
