// Every text of the executions that a user reads.

import { formatCount, plural } from '../../shared/figures';

/** Why the caller got the money back, by the code of the service. */
const reasons: Readonly<Record<string, string>> = {
    creator_failed: 'The agent reported a failure',
    timeout: 'The agent did not answer in time',
    invalid_response: 'The answer broke the rules',
    expired: 'Nobody settled it in time',
    interrupted: 'The service was interrupted',
};

export const words = {
    title: 'Executions',
    whySignIn: 'Executions are shown to the wallet that they belong to.',

    role: 'Whose executions',
    roles: { caller: 'Calls I paid for', creator: 'Calls of my agents' },
    range: 'Period',
    ranges: { today: 'Today', week: '7 days', days30: '30 days', month: 'This month', all: 'All time' },
    status: 'Status',
    everyStatus: 'All',
    filters: 'Filters',
    moreFilters: 'Agent and exact time',
    agent: 'Agent',
    after: 'Started after',
    before: 'Started before',
    reversed: 'The end is not later than the start, so nothing can match.',
    clearFilters: 'Clear all filters',

    total: (count: number) => plural(count, 'execution'),
    matching: (count: number) => `${formatCount(count)} ${count === 1 ? 'execution matches' : 'executions match'}`,
    one: 'execution',

    totals: 'Totals',
    paid: 'Paid',
    earned: 'Earned',
    calls: 'Calls',
    success: 'Success rate',
    refunded: 'Refunded',
    fees: 'Marketplace fees',
    usdc: (amount: string) => `${amount} USDC`,
    oneYear: 'These totals cover the last 366 days. The list below goes back to the beginning.',
    noTotals: 'The totals could not be read.',

    spend: 'Spend by API key and by agent',
    earnings: 'Earnings by agent',
    byKey: 'By API key',
    byAgent: 'By agent',
    byKeyCaption: 'What each API key paid, the largest amount first',
    byAgentCaption: 'What was paid to each agent, the largest amount first',
    earnedCaption: 'What each agent earned, the largest amount first',
    spendOfYear: 'Of the last 366 days.',
    failedCalls: 'Failed',
    truncated: 'Only the 1 000 largest are shown.',
    nothingSpent: 'No calls in this period.',

    columns: {
        started: 'Started',
        agent: 'Agent',
        task: 'Task',
        status: 'Status',
        about: 'Reason or task',
        key: 'API key',
        took: 'Duration',
        cost: 'Cost (USDC)',
        earned: 'Earned (USDC)',
    },
    callerCaption: 'Executions that this wallet paid for, newest first',
    creatorCaption: 'Executions of the agents of this wallet, newest first',
    openExecution: (id: string) => `Open execution ${id}, started`,
    recordInExplorer: (id: string) => `Record of ${id} in the explorer`,
    walletItself: 'Wallet',
    underWay: 'in progress',
    unknown: '–',
    reason: (code: string): string | undefined => (Object.hasOwn(reasons, code) ? reasons[code] : undefined),

    tasksKept: 'The beginning of each task that you send from this browser is kept here, and nowhere else.',
    removeTasks: 'Remove the texts',

    noMatch: 'No execution matches',
    noMatchHint: 'Try another status, another agent or a longer period.',
    showAll: 'Show all executions',
    noCalls: 'You have not called an agent yet',
    noCallsHint: 'Choose an agent, write a task and pay for one call. It then appears here.',
    findAgent: 'Find an agent',
    noCallers: 'Nobody has called your agents yet',
    noCallersHint: 'When someone pays for a call of one of your agents, it appears here within seconds.',

    refundable: (amount: string) => `You can get ${amount} USDC back`,
    refundableHint:
        'You paid for these calls and nobody settled them in time. The service usually refunds them about a minute after the deadline. You can also do it yourself.',
    of: 'of',
    withDeadline: (amount: string) => `${amount} USDC, deadline`,

    unfinished: (count: number) =>
        `${plural(count, 'call')} from this browser ${count === 1 ? 'has' : 'have'} not finished`,
    newestShown: (count: number) => `Only the newest ${count} are shown.`,
    agentHasIt: 'The agent has the task.',
    notPaid: 'You have not paid for it.',
    signed: 'You signed the payment. Continue to see its state.',
    goOn: 'Continue',
    goOnWith: (agent: string) => `Continue the call of ${agent}`,
    forget: 'Discard',

    saveCsv: 'Save as CSV',
    rowsRead: 'Rows read',
    progress: (rows: number, total: number) => `${formatCount(rows)} of ${formatCount(total)}`,
    stop: 'Stop',
    saved: (rows: number) => `Saved ${plural(rows, 'execution')}.`,
    cutOff: (rows: number, total: number) =>
        `The file has the newest ${formatCount(rows)} of ${formatCount(total)}. To get the others, choose an earlier end, or use crtx executions export.`,
    stopped: (rows: number, total: number) =>
        `Stopped after ${formatCount(rows)} of ${formatCount(total)}. Nothing is saved yet.`,
    brokeOff: (message: string, rows: number, total: number) =>
        `The export failed after ${formatCount(rows)} of ${formatCount(total)}: ${message} Nothing is saved yet.`,
    saveThese: (rows: number) => `Save these ${formatCount(rows)}`,
} as const;
