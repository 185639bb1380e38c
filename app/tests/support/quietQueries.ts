// A query client that sends no request: the test sets the data of the page.

import type { QueryClient } from '@tanstack/react-query';

import { makeQueryClient } from '../../src/shared/api/queries';

export function quietQueries(): QueryClient {
    const queries = makeQueryClient();
    queries.setDefaultOptions({ queries: { enabled: false } });
    return queries;
}
