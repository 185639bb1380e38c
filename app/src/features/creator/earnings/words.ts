// What the earnings of a creator say.

import { plural } from '../../../shared/figures';

export const words = {
    title: (days: number | undefined) => (days === undefined ? 'Earnings' : `Earnings, last ${days} days`),
    notKept: 'This service does not keep earnings by day. A newer version of it does.',
    none: 'No execution of your agents ended in these days. The first one appears here a moment after it ends.',
    earned: 'Earned',
    fees: 'Marketplace fees',
    executions: 'Executions',
    ended: (completed: number, failed: number) => `${plural(completed, 'completed', 'completed')}, ${failed} failed`,
    usdc: (amount: string) => `${amount} USDC`,
    save: 'Save as CSV',
    plot: 'Earnings by day',
    table: 'Earnings by day, newest first',
    noneEnded: 'no execution ended',
    completed: 'Completed',
    failed: 'Failed',
    disputed: 'Disputed',
    feesColumn: 'Fees, USDC',
    earnedColumn: 'Earned, USDC',
} as const;
