// Every text of the API keys that a user reads.

import { formatCount, plural } from '../../shared/figures';
import { formatSol, formatUsdc } from '../../shared/money';
import type { KeyState } from './query';

const states: Record<KeyState, string> = {
    active: 'Active',
    pending: 'Not indexed yet',
    unregistered: 'Not registered',
    expired: 'Expired',
    exhausted: 'Used up',
    revoked: 'Revoked',
};

const hints: Partial<Record<KeyState, string>> = {
    pending: 'The key is on the chain. Its limits appear here in a moment.',
    unregistered:
        'Your wallet granted this key on the chain, but nobody registered it here. Register it if you have the key. Otherwise revoke it.',
    expired: 'It cannot pay for calls until you set a later end.',
    exhausted: 'It cannot pay for calls until you raise its total limit.',
};

export const words = {
    title: 'API keys',
    intro: 'A program pays for calls with an API key. The chain enforces the limits of each key, and you can revoke a key at any time.',
    whySignIn: 'Only the wallet that owns the keys can see them.',
    newTitle: 'Make an API key',
    allKeys: 'All API keys',
    newIntro: 'A program pays for calls with an API key, within limits that the chain enforces.',
    whySignInNew: 'A key spends the USDC of one wallet, and only that wallet sees it.',
    list: 'Keys',
    one: 'key',
    showRevoked: (count: number) => `Show ${plural(count, 'revoked key')}`,
    approvalNote:
        '“Calls left by approval”: each call takes its price out of your approval. A refund gives the money back to your wallet and to the limits of the key, but not to the approval. Approve again above to renew it.',
    noKeyInUse: 'No key is in use',
    noKey: 'No key yet',
    noKeyHint:
        'Make a key and give it to the program that calls agents for you. You decide how much it may spend, and until when.',

    states,
    hints,
    onlyOnChain: 'This service refuses the key, but the chain still accepts it. Revoke it there too.',
    noNode: 'No Solana node',
    noNodeHint:
        'This service names no node for browsers, so this page cannot read or change grants. Use the command line: crtx key.',
    name: 'Name',
    reading: 'Reading the chain …',
    preview: 'What will happen',
    noName: 'Key without a name',
    spentWith: (name: string) => `Spent with ${name}`,
    spentTodayWith: (name: string) => `Spent today with ${name}`,
    today: ' today (UTC)',
    spentOf: (spent: bigint, cap: bigint, when: string) =>
        `${formatUsdc(spent)} of ${formatUsdc(cap)} USDC spent${when}`,
    left: (amount: bigint) => `${formatUsdc(amount)} left`,
    spentWithoutLimit: (spent: bigint) => `${formatUsdc(spent)} USDC spent; there is no limit.`,
    key: 'Key',
    perCall: 'Limit per call',
    perDay: 'Limit per day',
    noLimit: 'No limit',
    amount: (amount: bigint) => `${formatUsdc(amount)} USDC`,
    callsLeft: 'Calls left by approval',
    atLeast: (count: number) => `At least ${formatCount(count)}`,
    unknown: '–',
    ends: 'Ends',
    never: 'Never',
    hasEnded: 'It has ended',
    spent30Days: 'Paid in 30 days',
    spent: (amount: bigint, calls: number) => `${formatUsdc(amount)} USDC, ${plural(calls, 'call')}`,
    allTime: 'Paid in all',
    lastUsed: 'Last used',
    made: 'Made',
    mayCall: 'May call',
    everyAgent: 'Every agent',
    publicKey: 'Session public key',
    publicKeyCopy: 'session public key',
    actions: (name: string) => `Actions for ${name}`,
    register: 'Register',
    rename: 'Rename',
    changeLimits: 'Change the limits',
    revoke: 'Revoke',
    cancel: 'Cancel',
    close: 'Close',
    busy: 'In progress …',

    form: {
        nameHint: 'Only for you: for example, which program uses the key.',
        nameTaken: 'Another key of yours has this name.',
        totalHint: 'A refund gives the price of the call back to the key.',
        littleSol: 'Too little SOL',
        littleSolHint: (amount: bigint) =>
            `The grant costs ${formatSol(amount)} SOL: its rent and the network fee. Send SOL to your wallet first.`,
        cannotMake: (why: string) => `This browser cannot make the key: ${why}`,
        make: 'Make the key',
        next: 'The next step shows the key. You sign after that.',
    },

    limits: {
        perCall: 'Limit per call (USDC)',
        perCallHint: 'A call with a higher price is refused.',
        perCallAboveTotal: 'This is above the total limit, so no call could cost as much.',
        total: 'Total limit (USDC)',
        perDay: 'Limit per day (USDC)',
        perDayHint: 'Optional. A day begins at 00:00 UTC.',
        perDayBelowCall: 'This is below the limit per call, so no call could cost as much.',
        notZero: 'Enter an amount above 0.',
        lifetimes: {
            day: 'In 1 day',
            week: 'In 7 days',
            month: 'In 30 days',
            quarter: 'In 90 days',
            year: 'In 1 year',
        },
        date: 'On a date that you choose',
        dateField: 'Date and time, in your time zone',
        noDate: 'Choose a date and a time.',
        past: 'Choose a time in the future.',
        tooLate: 'A key lasts ten years at most.',
        hasExpired: 'The key has expired. Choose when it ends now.',
        reach: 'Agents that it may call',
        chosenAgents: 'Only agents that I choose',
        addAgent: 'Add an agent',
        addAgentHint: (most: number) => `Up to ${most} agents.`,
        noAgent: 'Choose at least one agent, or let the key call every agent.',
    },

    change: {
        noGrant: 'The chain does not show the grant of this key yet.',
        keepEnd: 'No change',
        keepPastEnd: 'No change: it has ended',
        totalHint: (spent: bigint) => `This includes the ${formatUsdc(spent)} USDC that it has spent.`,
        sign: 'Sign the new limits',
        done: 'The key has its new limits. The list shows them in a moment.',
    },

    effects: {
        // A moment follows.
        mayPay: (
            agents: number,
            { perCallCap, dailyCap, totalCap }: Record<'perCallCap' | 'dailyCap' | 'totalCap', bigint>,
        ) => {
            const reach = agents === 0 ? 'every agent' : plural(agents, 'agent');
            const day = dailyCap > 0n ? `, ${formatUsdc(dailyCap)} USDC in one day (UTC)` : '';
            return `The key may pay for calls to ${reach}: up to ${formatUsdc(perCallCap)} USDC for one call${day} and ${formatUsdc(totalCap)} USDC in total, until`;
        },
        fee: (fee: string) => `It costs the network fee of ${fee}.`,
        rentAndFee: (rent: bigint, fee: string) =>
            `It costs ${formatSol(rent)} SOL for the rent of the grant, which does not come back, and the network fee of ${fee}.`,
        noUsdcMoves: 'No USDC moves now. Each call moves its price into the escrow.',
        sameApproval: (amount: bigint) =>
            `All keys together may take up to ${formatUsdc(amount)} USDC from your wallet, as before.`,
        newApproval: (amount: bigint, before: bigint) =>
            `All keys together may take up to ${formatUsdc(amount)} USDC from your wallet. Now it is ${formatUsdc(before)} USDC.`,
        headroom:
            'Part of that is headroom: a refund gives the price back to your wallet and to the key, but not to this approval. No key can spend more than its own limits.',
        otherDelegate: (address: string) =>
            `Your account approves another address, ${address}. That approval ends, because an account can have only one.`,
        shortHolding: (holding: bigint) =>
            `Your wallet holds ${formatUsdc(holding)} USDC. Calls beyond this amount are refused.`,
    },

    handOver: {
        save: 'Save this key now',
        saveHint:
            'You see it only this once. Nobody can show it again: this page does not keep it, and the service stores only its public half. Keep it as safe as money.',
        copied: 'API key',
        whatYouSign: 'What your signature does',
        saved: 'I have saved the key.',
        sign: 'Sign and grant',
        discard: 'Discard this key',
        granted: 'The chain has the grant.',
        registering: 'The chain has the grant. The service registers the name of the key …',
        notRegistered: 'Granted, but not registered yet',
        notRegisteredHint:
            'The service does not know the name of the key yet, so the key may not work. You can close this page: the list of your keys continues the registration.',
        works: 'The key works',
        // The name of the key stands before it, and `header`, `or` and `variable` follow.
        worksHint: 'is granted and registered. Send it with each call as',
        header: 'Authorization: Bearer',
        or: 'or set',
        variable: 'CRTX_API_KEY',
    },

    pending: {
        notKept: 'This browser does not store data for this page, so an interrupted registration could not continue.',
        never: 'A key was never granted',
        // The name of the key stands before it.
        neverHint:
            'has no grant on the chain, and the signature for it has expired. The key that you saved cannot pay for anything. Make another one.',
        understood: 'OK',
        notRegistered: 'A key is not registered yet',
        // The name of the key follows.
        granting: 'This page waits until the chain shows the grant of',
        // The name of the key follows, and then the reason.
        failed: 'The service did not register',
        registering: 'The service registers',
        trying: 'Trying …',
        retry: 'Try again',
        leave: 'Leave it unregistered',
    },

    registration: {
        key: 'The key',
        keyHint:
            'It stays in this browser. The page signs with it that it belongs to your wallet, and then forgets it.',
        noKey: 'Paste the key.',
        otherKey: 'This key does not belong to this grant.',
        wrongPrefix: (prefix: string) => `A key of this network begins with ${prefix}.`,
        malformed: 'This is not an API key: it is too short or too long, or it has a wrong character.',
        register: 'Register the key',
        registering: 'Registering …',
        done: (name: string) => `The key ${name} is registered.`,
    },

    renaming: {
        name: 'New name',
        hint: 'You sign nothing, and the key stays the same.',
        save: 'Save the name',
        saving: 'Saving …',
        done: (name: string) => `The name of the key is now ${name}.`,
    },

    revocation: {
        forGood:
            'This service and the chain refuse the key at once, for good. If you need a key again, make a new one.',
        openCalls: 'Open calls continue.',
        approvalFalls: (before: bigint, after: bigint) =>
            `The approval for all of your keys falls from ${formatUsdc(before)} to ${formatUsdc(after)} USDC.`,
        signOnce: (fee: string) =>
            `Your wallet signs one transaction. It costs the network fee of ${fee}. The rent of the grant does not come back.`,
        confirm: 'Revoke for good',
        notTaken: 'The service did not revoke the key',
        chainHolds: (why: string) => `${why} The revocation on the chain holds without the service.`,
        onlyOnChain: (name: string) => `The key ${name} is revoked on the chain. The service shows it in a moment.`,
        done: (name: string) => `The key ${name} is revoked. Nobody can use it any more.`,
        signed: 'The key is revoked.',
        already: 'This key is revoked for good. Make a new one.',
    },

    approval: {
        unreachable:
            'The Solana network does not answer, so this page does not know balance and approval. Check the connection, then try again.',
        title: 'Approval for all keys together',
        change: 'Change',
        same: 'The approval already has this amount, so there is nothing to sign.',
        done: 'The approval is changed.',
        short: (amount: bigint) => `The approval is ${formatUsdc(amount)} USDC short`,
        low: 'The approval is about to run out',
        lowHint: (calls: number) =>
            `It pays for ${plural(calls, 'more call')} at the highest price that your keys may pay. After that, calls are refused. Each call takes its price out of the approval. A refund gives the money back to your wallet and to the key, but not to the approval: refunds use it up.`,
        approve: (amount: bigint) => `Approve ${formatUsdc(amount)} USDC`,
        holds: 'Your wallet holds',
        approved: 'Approved for your keys',
        maySpend: 'Your keys may still spend',
        missing: 'Missing in the approval',
        paysFor: 'Calls that it still pays for',
        field: 'Approve for all keys together (USDC)',
        fieldHint: 'Enter 0 to remove the approval. Then no key can pay for a call.',
        unchanged: 'The approval already has this amount.',
        below: 'Your keys may spend more than that. Calls beyond this amount are refused.',
        none: 'Every later call with a key is refused. Open calls continue.',
        fee: (fee: string) => `It costs the network fee of ${fee}. No USDC moves.`,
        sign: 'Sign the change',
        remove: 'Remove the approval',
    },
} as const;
