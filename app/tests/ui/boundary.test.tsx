// @vitest-environment happy-dom
// A section that fails shows what happened and can be tried again; the other sections stay.

import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { PartError } from '../../src/shared/part';
import { SectionBoundary } from '../../src/shared/ui/SectionBoundary';

// React writes what a boundary caught to the console, too.
beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => undefined));
afterEach(() => {
    cleanup();
    vi.restoreAllMocks();
});

let problem: Error | null = null;

function Fragile() {
    if (problem !== null) throw problem;
    return <p>The figures</p>;
}

function Asking() {
    const { data } = useQuery({
        queryKey: ['fragile'],
        queryFn: () => (problem === null ? 'The answer' : Promise.reject(problem)),
        throwOnError: true,
        retry: false,
    });
    return <p>{data}</p>;
}

const show = (section: React.ReactNode) =>
    render(
        <QueryClientProvider client={new QueryClient()}>
            <SectionBoundary name="Earnings">{section}</SectionBoundary>
            <SectionBoundary name="Calls">
                <p>The calls</p>
            </SectionBoundary>
        </QueryClientProvider>,
    );

test.each([
    ['a render', <Fragile />, 'The figures'],
    ['a query', <Asking />, 'The answer'],
] as const)('%s that fails takes nothing else with it, and is tried again', async (_, section, shown) => {
    problem = new Error('pay\u202elap');
    show(section);
    const alert = await screen.findByRole('alert');
    expect(alert.textContent).toContain('Earnings could not be shown');
    // The reason may have come from a stranger.
    expect(alert.textContent).toContain('U+202E');
    expect(alert.textContent).not.toContain('\u202e');
    expect(screen.getByText('The calls')).toBeTruthy();

    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByRole('alert')).toBeTruthy();
    problem = null;
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText(shown)).toBeTruthy();
    expect(screen.queryByRole('alert')).toBe(null);
});

test('a part of the page that is not there any more is left to the page, which loads a newer one', () => {
    problem = new PartError();
    expect(() => show(<Fragile />)).toThrow(PartError);
});
