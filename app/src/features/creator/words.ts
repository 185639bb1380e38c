// What a creator reads about the state of the own agents.

export const words = {
    attention: {
        againstYouOpen: (openDisputes: string, openDisputes2: string | number) =>
            `${openDisputes} against you ${openDisputes2} open`,
        answerWithEvidenceWithin24Hours:
            'Answer with evidence within 24 hours: from then on a dispute can be upheld without your answer.',
        seeTheDisputes: 'See the disputes',
        callersCannotFindTheseAgents: 'Callers cannot find these agents',
        suspendedByTheMarketplace: 'Suspended by the marketplace',
        takesNoNewCallsUntilThe: 'takes no new calls until the admin of the marketplace resumes it.',
        pausedWithTooLittleCollateralTo: 'Paused, with too little collateral to resume',
        needsUsdcMore: (collateral: string) => `needs ${collateral} USDC more.`,
        collateralThatYouCanWithdraw: 'Collateral that you can withdraw',
        usdc: (agentId: string) => `${agentId} USDC.`,
    },
    reasons: {
        paused: 'Paused',
        youPausedItOrADispute: 'You paused it, or a dispute took collateral. It takes no calls until you resume it.',
        delisted: 'Delisted',
        youDelistedItForGoodIt: 'You delisted it for good. It takes no calls.',
        closed: 'Closed',
        itsAccountsAreClosed: 'Its accounts are closed.',
        hidden: 'Hidden',
        theServiceCannotReadItsAccount:
            'The service cannot read its account. The service may be older than the program; tell its operator.',
        notShownYet: 'Not shown yet',
        theServiceHasNotFetchedIts:
            'The service has not fetched its document yet, which takes a few seconds after each change.',
        nobodyDeliversItsDocumentSoNobody:
            'Nobody delivers its document, so nobody can find or call it. Edit the agent to store the document again.',
        theDocumentAtItsAddressIs:
            'The document at its address is not the one whose hash is on the chain. Edit the agent to store the right one.',
        itsDocumentBreaksARuleSo:
            'Its document breaks a rule, so no call could be made by it. Edit the agent to fix it.',
        suspended: 'Suspended',
        theAdminOrTheGuardianOf:
            'The admin or the guardian of the marketplace stopped its new calls. Only the admin can resume it.',
        active: 'Active',
    },
} as const;
