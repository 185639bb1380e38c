// What a creator reads on the page of all agents of a wallet.

import { formatCount, plural } from '../../shared/figures';

export const words = {
    title: 'My agents',
    why: 'The page shows the agents that your wallet listed.',
    usdc: (amount: string) => `${amount} USDC`,
    unknown: '–',
    listNew: 'List a new agent',
    executions: 'Executions of my agents',
    disputes: 'Disputes against me',
    openDisputes: (count: number) => ` (${formatCount(count)} open)`,
    agents: 'Agents',
    count: (count: number) => plural(count, 'agent'),
    none: 'You have not listed an agent yet',
    noneText:
        'Your agent is a service that answers calls over HTTPS. Set a price, lock its collateral, and it is live.',
    noChain: 'The Solana network does not answer as expected. Check the connection, then try again.',

    totals: {
        earned: 'Earned in total',
        collateral: 'Locked collateral',
        slashed: 'Taken by disputes',
        open: 'Open executions',
        disputes: 'Open disputes',
    },

    table: {
        unit: 'Amounts are USDC.',
        newestOnly: ' The service knows the earnings of the newest agents only; the sum of all is above.',
        agent: 'Agent',
        state: 'State',
        price: 'Price',
        calls: 'Calls',
        earned: 'Earned',
        collateral: 'Collateral',
        more: (count: number) => `Show more of ${formatCount(count)} agents`,
        noneEnded: 'none finished yet',
        success: (share: string) => `${share} successful`,
        open: (count: number) => `${formatCount(count)} open`,
        disputed: (count: number) => `${formatCount(count)} disputed`,
        needed: (amount: string) => `${amount} needed`,
    },

    cover: {
        none: 'nothing at risk',
        all: (atRisk: string) => `covers all ${atRisk} at risk`,
        part: (percent: number, atRisk: string) => `covers ${percent}% of ${atRisk} at risk`,
    },

    effects: {
        title: 'What happens',
        fee: (fee: string) => `Network fee: ${fee}.`,
    },

    outbound: {
        title: 'Where calls come from',
        local: 'On a local network, calls come from this computer.',
        none: 'This service publishes no addresses, so your service cannot recognise calls by their address. The signature of a result protects your payment.',
        some: 'This service calls your endpoint from these addresses alone. If your endpoint is behind a firewall, allow them on its port, which is 443 unless your URL names another one. You can block every other address.',
        all: 'all addresses',
        ranges: 'An address that ends in /24 or similar is a range. The list can change. Programs read it from ',
        field: ' as ',
    },

    profile: {
        title: 'Creator profile',
        noName: 'You have no display name. Callers see your address.',
        verified: 'Verified creator',
        notVerified: 'Not verified',
        closed: (count: number) => `Your profile keeps the totals of ${plural(count, 'closed agent')}.`,
        badge: 'The admin of the marketplace checks a name, and then gives it the badge.',
        field: 'Display name',
        hint: '1 to 32 bytes: letters of any script, digits, signs, and spaces in between.',
        same: 'This is already your display name.',
        otherAccount: 'Another account is connected now. Nothing was sent.',
        tooLong: (most: number, bytes: number) =>
            `A name has at most ${most} bytes, and this one has ${bytes}. A letter beyond ASCII takes two to four bytes.`,
        marks: 'A letter can have at most two accents or other marks, and a name cannot begin with one.',
        effect: 'Callers see the new name at all of your agents when the network has confirmed the transaction.',
        losesBadge: 'Your badge is for the present name. You lose it with another name.',
        created: (rent: string) => `The transaction creates your profile. Its rent of ${rent} SOL does not come back.`,
        change: 'Change the name',
        done: 'Your display name is changed.',
    },

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
