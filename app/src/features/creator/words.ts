// What a creator reads about the state of the own agents.

export const words = {
    attention: {
        disputes: (openDisputes: string, openDisputes2: string | number) =>
            `${openDisputes} against you ${openDisputes2} open`,
        disputesText: 'Answer with evidence within 24 hours: from then on a dispute can be upheld without your answer.',
        toDisputes: 'See the disputes',
        hidden: 'Callers cannot find these agents',
        suspended: 'Suspended by the marketplace',
        suspendedText: 'takes no new calls until the admin of the marketplace resumes it.',
        paused: 'Paused, with too little collateral to resume',
        needs: (collateral: string) => `needs ${collateral} USDC more.`,
        free: 'Collateral that you can withdraw',
        freeText: (agentId: string) => `${agentId} USDC.`,
    },
    reasons: {
        paused: 'Paused',
        pausedText: 'You paused it, or a dispute took collateral. It takes no calls until you resume it.',
        delisted: 'Delisted',
        delistedText: 'You delisted it for good. It takes no calls.',
        closed: 'Closed',
        closedText: 'Its accounts are closed.',
        hidden: 'Hidden',
        unreadable:
            'The service cannot read its account. The service may be older than the program; tell its operator.',
        notShown: 'Not shown yet',
        pending: 'The service has not fetched its document yet, which takes a few seconds after each change.',
        unavailable:
            'Nobody delivers its document, so nobody can find or call it. Edit the agent to store the document again.',
        mismatch:
            'The document at its address is not the one whose hash is on the chain. Edit the agent to store the right one.',
        invalid: 'Its document breaks a rule, so no call could be made by it. Edit the agent to fix it.',
        suspended: 'Suspended',
        suspendedText:
            'The admin or the guardian of the marketplace stopped its new calls. Only the admin can resume it.',
        active: 'Active',
    },
} as const;
