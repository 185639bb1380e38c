// Starts the dashboard.

import './app/theme.css';
import './app/base.css';

import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { makeRouter } from './app/router';
import { makeQueryClient } from './shared/api/queries';

const queryClient = makeQueryClient();
const router = makeRouter(queryClient);

declare module '@tanstack/react-router' {
    // eslint-disable-next-line @typescript-eslint/consistent-type-definitions -- It is merged with the router's own.
    interface Register {
        router: typeof router;
    }
}

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no root element.');
createRoot(root).render(
    <StrictMode>
        <QueryClientProvider client={queryClient}>
            <RouterProvider router={router} />
        </QueryClientProvider>
    </StrictMode>,
);
