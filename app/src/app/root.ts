// The route that every page is a child of.

import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext } from '@tanstack/react-router';

import { Shell } from './Shell';

export const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({ component: Shell });
