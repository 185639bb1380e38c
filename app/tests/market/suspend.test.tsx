// @vitest-environment happy-dom
// The emergency stop of one agent, as the admin and the guardian see it on the agent's page.

import type { Address } from '@solana/kit';
import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';

import { suspensionQuery } from '../../src/features/admin/suspend/query';
import SuspendAgent from '../../src/features/admin/suspend/SuspendAgent';
import { networkQuery } from '../../src/shared/api/queries';
import { quietQueries } from '../support/quietQueries';

const AGENT = '4LWe7yJS7sgcZSnGtPgo6XMby8omoqrZPM1Hj7B8bQj7' as Address;
const RPC_URL = 'http://node.example';

function show(suspended: number, mayResume: boolean): void {
    const queries = quietQueries();
    queries.setQueryData(networkQuery.queryKey, { rpc_url: RPC_URL } as never);
    queries.setQueryData(suspensionQuery(AGENT, RPC_URL).queryKey, { status: 1, suspended } as never);
    render(
        <QueryClientProvider client={queries}>
            <SuspendAgent agentId={AGENT} mayResume={mayResume} />
        </QueryClientProvider>,
    );
}

afterEach(cleanup);

const buttons = (): string[] => screen.queryAllByRole('button').map(({ textContent }) => textContent);

test('an agent that takes calls can be suspended by both', async () => {
    for (const mayResume of [true, false]) {
        show(0, mayResume);
        await screen.findByText('Not suspended');
        expect(buttons()).toEqual(['Suspend this agent …']);
        cleanup();
    }
});

test('a suspended agent is resumed by the admin alone', async () => {
    show(1, true);
    await screen.findByText('Suspended');
    expect(buttons()).toEqual(['Resume this agent …']);
    cleanup();
    show(1, false);
    await screen.findByText('Only the admin can resume it.');
    expect(buttons()).toEqual([]);
});
