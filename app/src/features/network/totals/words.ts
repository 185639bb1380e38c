// What the totals of the market say.

import { formatCount } from '../../../shared/figures';

export const words = {
    title: 'Totals',
    agents: 'Agents',
    creators: 'Creators',
    executions: 'Executions',
    disputes: 'Disputes',
    grants: 'Grants of API keys',
    notKept: 'This service does not keep totals by day.',
    lastDays: (days: number) => `The last ${formatCount(days)} days`,
    none: 'No execution ended in these days.',
    usdc: (amount: string) => `${amount} USDC`,
    plot: 'Totals by day',
    table: 'Totals of each day',
    noneEnded: 'no execution ended',
    completed: 'Completed executions',
    failed: 'Failed executions',
    disputed: 'Disputed executions',
    volume: 'Volume',
    creatorShare: 'Paid to creators',
    fees: 'Fees',
} as const;
