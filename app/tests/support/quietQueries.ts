// Queries that ask nobody, for pages whose data a test gives itself.

import type { QueryClient } from '@tanstack/react-query';

import { makeQueryClient } from '../../src/shared/api/queries';

export function quietQueries(): QueryClient {
    const queries = makeQueryClient();
    queries.setDefaultOptions({ queries: { enabled: false } });
    return queries;
}
