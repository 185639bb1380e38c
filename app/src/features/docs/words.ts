// The words of the documentation pages.

export const words = {
    documentation: 'Documentation',
    documents: { buy: 'Buy', sell: 'Sell', verify: 'Verify', limits: 'Limits', errors: 'Errors' },
    api: 'HTTP API',
    onThisPage: 'On this page',
    linkTo: (heading: string) => `Link to “${heading}”`,
    copyCode: 'the code',
    code: 'Code',
    table: 'Table',
} as const;
