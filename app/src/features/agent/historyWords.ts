// What the history of an agent says.

export const historyWords = {
    days: (days: number) => `Last ${days} days`,
    newest: 'Newest executions',
    newestTable: 'Table of the newest executions',
    none: 'None yet. The first one appears here a moment after it is opened.',
    noneInDays: 'No execution ended in these days.',
    plot: 'Executions by day',
    table: 'Executions by day, newest first',
    nothing: 'none',
    time: 'Execution time',
    executions: 'Executions',
    median: 'Median',
    p95: '95th percentile',
    completed: 'Completed',
    failed: 'Failed',
    state: 'State',
    opened: 'Opened',
    took: 'Time',
    cost: 'Cost',
    record: 'Record',
    address: 'record address',
    /** Why the caller was refunded. */
    reasons: {
        creator_failed: 'the creator reported a failure',
        timeout: 'no answer in time',
        invalid_response: 'the answer broke the rules',
        expired: 'nobody settled it in time',
        interrupted: 'the service was interrupted',
    } as Readonly<Record<string, string>>,
} as const;
