// What the frame of the pages says.

export const words = {
    product: 'crtx',
    home: 'crtx, all agents',
    skip: 'Skip to the content',
    pagesOf: 'Pages',
    menu: 'Menu',
    groups: { market: 'Market', buy: 'Buy', sell: 'Sell' },
    pages: {
        agents: { label: 'Agents', hint: 'Find an agent and run it' },
        network: { label: 'Network', hint: 'Rules, roles and totals of the market' },
        docs: { label: 'Docs', hint: 'How to buy, sell and verify' },
        executions: { label: 'Executions', hint: 'The calls that you paid for' },
        keys: { label: 'Keys', hint: 'Let a program pay, within limits' },
        disputes: { label: 'Disputes', hint: 'Results that someone disputes' },
        creator: { label: 'My agents', hint: 'State, earnings and collateral' },
        list: { label: 'List an agent', hint: 'Offer the work of your service' },
        webhooks: { label: 'Webhooks', hint: 'Get a request when something happens' },
        resolve: { label: 'Resolve', hint: 'Decide open disputes' },
        admin: { label: 'Admin', hint: 'Parameters, roles and stops' },
    },
    footer: {
        claim: 'crtx: pay per call for a signed result.',
        docs: 'Docs',
        api: 'HTTP API',
        network: 'Network',
    },
    theme: {
        label: 'Theme',
        names: { system: 'as the system', light: 'light', dark: 'dark' },
        change: (now: string, next: string) => `Theme: ${now}. Change to ${next}.`,
    },
    loading: 'The page is loading',
    failed: { title: 'This page could not be shown' },
    notFound: {
        title: 'There is no such page',
        text: 'The address may be misspelt, or the agent may have been closed.',
        action: 'See all agents',
    },
    paused: {
        title: (what: string) => `Paused: ${what}`,
        text: 'The admin or the guardian has stopped this for now. Open calls, refunds, disputes and withdrawals go on as before.',
    },
    away: {
        title: 'Waiting for the service',
        text: 'It does not answer. This page asks again and goes on by itself. What you wrote stays here.',
    },
} as const;
