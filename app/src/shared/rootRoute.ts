// The route that every page is a child of. `app/router.ts` gives it the shell that surrounds the pages.

import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext } from '@tanstack/react-router';

export const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()();
