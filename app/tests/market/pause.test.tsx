// @vitest-environment happy-dom
// The emergency stop: what admin and guardian can do on the page, and what their transactions say.

import { type Address, type TransactionSigner, createNoopSigner } from '@solana/kit';
import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, expect, test } from 'vitest';

import type { Market } from '../../src/chain/market';
import { asStopper } from '../../src/features/admin/act/requests';
import { PausePanel } from '../../src/features/admin/PausePanel';
import { factsOfChain, factsOfService } from '../../src/features/market/facts';
import { Roles } from '../../src/features/market/Roles';
import { parseSetPausedInstruction, getSetPausedInstructionAsync } from '../../src/generated/instructions/setPaused';
import { stoppedText } from '../../src/shared/pause';
import { mayStop } from '../../src/shared/roles';
import { quietQueries } from '../support/quietQueries';

const [ADMIN, GUARDIAN, OTHER] = [
    '82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8',
    'BUGuuhPsHpk8YZrL2GctsCtXGneL1gmT5zYb7eMHZDWf',
    '4LWe7yJS7sgcZSnGtPgo6XMby8omoqrZPM1Hj7B8bQj7',
] as [Address, Address, Address];

const marketOf = (openingsPaused: number, listingsPaused: number): Market =>
    ({
        config: {
            admin: ADMIN,
            guardian: GUARDIAN,
            pendingAdmin: OTHER,
            resolver: OTHER,
            gatewayAuthority: OTHER,
            treasuryOwner: OTHER,
            insuranceOwner: OTHER,
            openingsPaused,
            listingsPaused,
            resolverSinceUnixS: 0n,
            parametersApplyFromUnixS: 0n,
            rolesApplyFromUnixS: 0n,
        },
        now: 0,
        ahead: 0,
    }) as unknown as Market;

afterEach(cleanup);

const show = (page: React.ReactNode): void =>
    void render(<QueryClientProvider client={quietQueries()}>{page}</QueryClientProvider>);
const buttons = (): string[] => screen.getAllByRole('button').map(({ textContent }) => textContent);

test.each([
    [0, 0, null],
    [1, 0, 'no new calls'],
    [0, 1, 'no new listings'],
    [1, 1, 'no new calls, no new listings'],
])('with %i and %i it is said: %s', (openings, listings, text) => {
    expect(stoppedText(openings === 1, listings === 1)).toBe(text);
    const facts = factsOfChain(marketOf(openings, listings));
    expect([facts.isOpeningsPaused, facts.isListingsPaused]).toEqual([openings === 1, listings === 1]);
});

test('new calls and new listings have a switch each', async () => {
    show(<PausePanel market={marketOf(1, 0)} mayResume />);
    expect(buttons()).toEqual(['Resume new calls …', 'Stop new listings …']);
    await userEvent.click(screen.getByRole('button', { name: /^Stop new listings/ }));
    await screen.findByRole('heading', { name: 'Stop new listings for everybody?' });
});

test('the guardian stops, and learns who resumes', () => {
    show(<PausePanel market={marketOf(1, 0)} mayResume={false} />);
    expect(buttons()).toEqual(['Stop new listings …']);
    expect(screen.getByText('Only the admin can resume new calls.')).toBeTruthy();
});

test('admin and guardian may stop, and the admin alone resumes', () => {
    const roles = { admin: ADMIN, guardian: GUARDIAN };
    expect([ADMIN, GUARDIAN, OTHER].map((wallet) => mayStop(wallet, roles))).toEqual([true, true, false]);
    expect(mayStop(OTHER, { admin: ADMIN, guardian: null })).toBe(false);
    const chain = { rpc: {} as never, market: marketOf(0, 0) };
    const made = (wallet: Address, resumes: boolean): string => {
        try {
            void asStopper(resumes, async () => ({ programAddress: OTHER }))(createNoopSigner(wallet), chain);
            return 'made';
        } catch (error) {
            return (error as Error).message;
        }
    };
    expect([made(ADMIN, false), made(GUARDIAN, false), made(ADMIN, true)]).toEqual(['made', 'made', 'made']);
    expect(made(GUARDIAN, true)).toContain('Only the admin may do this');
    expect(made(OTHER, false)).toBe('Only the admin or the guardian may do this.');
});

test('a switch changes its own half of the pause, and keeps the other', async () => {
    const authority: TransactionSigner = createNoopSigner(GUARDIAN);
    const built = await getSetPausedInstructionAsync({ authority, openings: true, listings: null });
    expect(parseSetPausedInstruction(built).data).toMatchObject({
        openings: { __option: 'Some', value: true },
        listings: { __option: 'None' },
    });
});

test('the roles name the guardian with what it may do, and nobody where there is none', () => {
    const facts = factsOfChain(marketOf(0, 0));
    expect(facts.guardian).toBe(GUARDIAN);
    show(<Roles facts={facts} />);
    expect(screen.getByText(/suspends an agent. Only the admin resumes them/)).toBeTruthy();
    const network = {
        openings_paused: true,
        listings_paused: false,
        roles: { guardian: null, resolver_since: '2026-11-23T00:00:00Z' },
        parameters: { dispute_window_seconds: 1, settle_grace_seconds: 1, collateral_tiers: [] },
        announced_roles: null,
        announced_parameters: null,
    };
    expect(factsOfService(network as never, 0)).toMatchObject({
        guardian: null,
        isOpeningsPaused: true,
        isListingsPaused: false,
    });
});
