// @vitest-environment happy-dom
// What each party can do about a dispute at which time, and what it is told before it signs.

import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { NOBODY } from '../../src/chain/market';
import { StoredAgentStatus, StoredDisputeOutcome } from '../../src/chain/stored';
import { Actions } from '../../src/features/disputes/actions/Actions';
import { ANSWER_PERIOD_S, type Case, LIMIT_S } from '../../src/features/disputes/chain/case';
import { makeQueryClient } from '../../src/shared/api/queries';

const RAISED = 1_790_000_000;

beforeEach(() => void vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no network in this test'))));
afterEach(() => {
    cleanup();
    sessionStorage.clear();
    vi.unstubAllGlobals();
});

function show(wallet: string, now: number, answered = 0n, resolver = 'resolver'): void {
    const found = {
        recordAddress: 'record',
        record: { amount: 50_000n, maxPenaltyMultiple: 20 },
        dispute: {
            raisedAtUnixS: BigInt(RAISED),
            answeredAtUnixS: answered,
            coveredAmount: 50_000n,
            raisedBy: 'caller',
            bond: 100_000n,
            outcome: StoredDisputeOutcome.Open,
        },
        agent: {
            creator: 'creator',
            collateral: 10_000_000n,
            disputedAmount: 50_000n,
            coveredAmount: 50_000n,
            price: 50_000n,
            minCover: 1,
            status: StoredAgentStatus.Active,
        },
        config: {
            resolver,
            resolverSinceUnixS: 0n,
            parameters: { collateralTiers: [{ maxPrice: 100_000n, collateral: 10_000_000n }] },
        },
        now,
    } as unknown as Case;
    render(
        <QueryClientProvider client={makeQueryClient()}>
            <Actions
                dispute={{} as never}
                found={found}
                wallet={wallet as never}
                network={{ rpc_url: 'http://node.example' } as never}
            />
        </QueryClientProvider>,
    );
}

const button = (name: RegExp): HTMLElement | null => screen.queryByRole('button', { name });

test('the creator writes one answer, and nothing is sent without a text', async () => {
    show('creator', RAISED);
    await userEvent.click(screen.getByRole('button', { name: 'Send the answer' }));
    expect(screen.getByLabelText('Your answer').getAttribute('aria-invalid')).toBe('true');
    await screen.findByText('Enter what happened and why.');
    cleanup();
    show('creator', RAISED, BigInt(RAISED + 1));
    expect(button(/answer/)).toBeNull();
});

test('the resolver can uphold from the answer on or after 24 hours, and reject at once', async () => {
    const uphold = (): boolean => screen.getByRole<HTMLInputElement>('radio', { name: /^Uphold/ }).disabled;
    show('resolver', RAISED + ANSWER_PERIOD_S - 1);
    expect(uphold()).toBe(true);
    expect(screen.getByRole<HTMLInputElement>('radio', { name: /^Reject/ }).disabled).toBe(false);
    cleanup();
    show('resolver', RAISED + ANSWER_PERIOD_S);
    expect(uphold()).toBe(false);
    cleanup();
    show('resolver', RAISED + 1, BigInt(RAISED + 1));
    expect(uphold()).toBe(false);
    await userEvent.click(screen.getByRole('button', { name: 'Sign the decision' }));
    await screen.findByText('Choose one of the three.');
});

test('the resolver sees what an amount does before it is signed', async () => {
    show('resolver', RAISED + 1, BigInt(RAISED + 1));
    await userEvent.click(screen.getByRole('radio', { name: /^Uphold/ }));
    const amount = screen.getByLabelText<HTMLInputElement>('Take from the collateral, in USDC');
    expect(amount.value).toBe('0.05');
    const type = async (text: string): Promise<void> => {
        await userEvent.clear(amount);
        await userEvent.type(amount, text);
    };
    await type('0.06');
    const shown = screen.getAllByRole('definition').map((found) => found.textContent);
    expect(shown).toEqual(['0.05 USDC', '0.01 USDC', '10 USDC', '9.94 USDC', '10 USDC']);
    expect(screen.getByText(/This pauses the agent/).textContent).toContain('0.06 USDC');
    expect(button(/^Sign: uphold and take 0.06 USDC$/)).not.toBeNull();
    await type('1.050001');
    expect(screen.getByText(/^At most 1.05 USDC can be taken/)).not.toBeNull();
    expect(screen.queryAllByRole('definition')).toEqual([]);
    await type('0,05');
    expect(amount.getAttribute('aria-invalid')).toBe('true');
});

test('a rejection says who gets the bond', async () => {
    show('resolver', RAISED);
    await userEvent.click(screen.getByRole('radio', { name: /^Reject/ }));
    await screen.findByText(/The caller gets the bond of 0.10 USDC back/);
    await userEvent.click(screen.getByRole('radio', { name: /^Abusive/ }));
    await screen.findByText(/The creator also gets the caller.s bond of 0.10 USDC/);
    expect(button(/^Sign: reject it as abusive$/)).not.toBeNull();
});

test('the caller alone can cancel the dispute, and reads what comes back', () => {
    for (const wallet of ['creator', 'resolver']) {
        show(wallet, RAISED);
        expect(button(/Cancel the dispute/)).toBeNull();
        cleanup();
    }
    show('caller', RAISED);
    expect(button(/Cancel the dispute/)).not.toBeNull();
    expect(screen.getByText(/You get the bond of 0.10 USDC back/).textContent).toContain('cannot be disputed again');
});

test('anybody can end a dispute that nobody decided in 30 days, and not a second earlier', () => {
    show('caller', RAISED + LIMIT_S);
    expect(button(/End the dispute/)).toBeNull();
    cleanup();
    show('caller', RAISED + LIMIT_S + 1);
    expect(button(/End the dispute/)).not.toBeNull();
    expect(button(/Cancel the dispute/)).toBeNull();
    expect(screen.queryByText(/There is no resolver/)).toBeNull();
    cleanup();
    show('caller', RAISED + LIMIT_S + 1, 0n, NOBODY);
    expect(screen.getByText(/There is no resolver/).textContent).toContain('0.05 USDC out of the collateral');
});

test('a text that is written survives a reload of the tab', async () => {
    show('creator', RAISED);
    await userEvent.type(screen.getByLabelText('Your answer'), 'As asked.');
    cleanup();
    show('creator', RAISED);
    expect(screen.getByLabelText<HTMLTextAreaElement>('Your answer').value).toBe('As asked.');
});
