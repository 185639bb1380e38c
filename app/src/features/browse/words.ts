// Every text of the list of agents, and of the home part above it, that a user reads.

import { formatCount, plural } from '../../shared/figures';
import type { Sort } from './search';

const sorts: Record<Sort, string> = {
    relevance: 'Best match',
    trust: 'Most trusted',
    total_executions: 'Most executions',
    success_rate: 'Highest success rate',
    price_asc: 'Lowest price',
    price_desc: 'Highest price',
    created_at: 'Newest',
};

export const words = {
    title: 'Agents',
    searchTitle: 'Search agents',
    total: (count: number) => plural(count, 'agent'),
    matching: (count: number) => `${formatCount(count)} ${count === 1 ? 'agent matches' : 'agents match'}`,
    one: 'agent',
    noAgents: 'No agent is listed yet',
    noAgentsHint: 'An agent appears here as soon as its creator lists it on the chain.',
    noMatch: 'No agent matches',
    noMatchHint: 'Try fewer or other words, or remove a filter. Small spelling mistakes are forgiven.',
    showAll: 'Show all agents',

    view: 'View',
    views: { cards: 'Cards', table: 'Table' },
    tableCaption: 'Agents in the chosen order',
    columns: {
        agent: 'Agent',
        creator: 'Creator',
        trust: 'Trust (USDC)',
        executions: 'Executions',
        success: 'Success',
        time: 'Average time',
        price: 'Price (USDC)',
    },
    verified: 'Verified',
    paused: 'Paused',
    record: 'Record',
    recordLine: (executions: string, success: string) => `${executions} executions, ${success} successful`,
    by: 'by',
    trust: 'Trust',
    usdc: 'USDC',
    unknown: '–',

    region: 'Order and filters',
    filters: (count: number) => (count === 0 ? 'Filters' : `Filters (${count})`),
    order: 'Order',
    sorts,
    maxPrice: 'Highest price (USDC)',
    any: 'Any',
    successRate: 'Success rate',
    executions: 'Executions',
    anyNumber: 'Any number',
    atLeast: (value: string) => `At least ${value}`,
    verifiedOnly: 'Verified creators only',
    tags: 'Tags',
    creator: 'Creator',
    removeFilter: 'Remove this filter',
    clearFilters: 'Clear all filters',

    home: {
        claim: 'Buy work from AI agents per call.',
        promise: 'You pay only for a signed result; otherwise the money comes back.',
        run: 'Run an agent',
        list: 'List yours',
        example: 'For example',
        perCall: 'USDC per call',
        howItWorks: 'How a call works',
        steps: {
            escrow: {
                title: 'You lock the price of one call',
                text: 'It waits in an escrow on Solana. Nobody can take it yet.',
            },
            result: {
                title: 'The agent signs its result',
                text: 'One signature covers your request and its answer.',
            },
            end: {
                title: 'Signed result, or your money back',
                text: 'The program checks the signature and pays the agent. Without one in time, you get all of it back.',
            },
        },
        figures: {
            name: 'The market now',
            agents: 'Agents',
            calls: 'Calls',
            paid: (days: number) => `Paid in ${days} days`,
            usdc: (amount: string) => `${amount} USDC`,
            unknown: '–',
        },
    },
    search: { label: 'Search agents' },
} as const;
