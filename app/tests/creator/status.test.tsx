// @vitest-environment happy-dom
// What the creator of a suspended agent reads.

import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';

import { StoredAgentStatus } from '../../src/chain/stored';
import { StatusPanel } from '../../src/features/creator/manage/StatusPanel';
import type { Managing, Owned } from '../../src/features/creator/manage/useManaging';
import { quietQueries } from '../support/quietQueries';

afterEach(cleanup);

const managing: Managing = {
    status: { kind: 'idle' },
    step: null,
    done: '',
    isBusy: false,
    send: async () => undefined,
};

const textOf = (status: number, suspended: number): string => {
    cleanup();
    const listing = { status, suspended, price: 1n, minCover: 1, collateral: 10n, disputedAmount: 0n };
    const chain = { listing, tiers: [{ maxPrice: 10n, collateral: 10n }] } as unknown as Owned;
    const page = (
        <QueryClientProvider client={quietQueries()}>
            <StatusPanel chain={chain} managing={managing} isMarketPaused={false} />
        </QueryClientProvider>
    );
    return render(page).container.textContent;
};

test('a suspended agent is not said to take calls, and the creator learns who can resume it', () => {
    const text = textOf(StoredAgentStatus.Active, 1);
    expect(text).toContain('It is suspended');
    expect(text).toContain('Only the admin of the marketplace can resume it');
    expect(text).not.toContain('It takes calls');
    expect(textOf(StoredAgentStatus.Paused, 1)).toContain('It is also paused by you');
});

test('without a suspension nothing is said of one', () => {
    expect(textOf(StoredAgentStatus.Active, 0)).not.toContain('suspended');
    expect(textOf(StoredAgentStatus.Paused, 0)).toContain('It is paused');
});
