// What the list of agents and the home part above it say.

export const words = {
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
