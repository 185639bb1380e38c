// Starts the gallery. Links of components need a router; they lead nowhere here.

import '../src/app/theme.css';
import '../src/app/base.css';

import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider, createMemoryHistory, createRootRoute, createRouter } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';

import { makeQueryClient } from '../src/shared/api/queries';
import { Gallery } from './Gallery';

const router = createRouter({
    routeTree: createRootRoute({ component: Gallery }),
    history: createMemoryHistory({ initialEntries: ['/'] }),
});

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no root element.');
// One section fails on purpose.
createRoot(root, { onCaughtError: () => undefined }).render(
    <QueryClientProvider client={makeQueryClient()}>
        <RouterProvider router={router as never} />
    </QueryClientProvider>,
);
