// Every text that a user reads from the form of a call to its hand-over: the form, its problems, the price, what stands
// in the way, and why a call stops.

import { formatSol, formatUsdc } from '../../shared/money';

export const words = {
    task: 'What should the agent do?',
    taskHint: 'The creator of the agent reads this text.',
    parameters: 'Parameters',
    noParameters: 'This agent takes no parameters.',
    showFields: 'Show as fields',
    editJson: 'Edit as JSON',
    json: 'Parameters as JSON',
    noFields: 'The fields cannot show this JSON. You can send it as it is.',
    misfit: 'The parameters do not fit yet',
    chooseOne: 'Choose one.',
    missing: 'Fill this in.',
    optional: 'optional',
    entry: 'Entry',
    addEntry: 'Add an entry',
    addEntryTo: (name: string) => `Add an entry to ${name}`,
    remove: 'Remove',
    removeEntry: (number: number, name: string) => `Remove entry ${number} of ${name}`,
    jsonField: 'Write JSON, for example {"name": 1}.',
    yes: 'Yes',
    no: 'No',

    unfinished: (count: number) =>
        count === 1 ? 'You have a call that has not ended' : `You have ${count} calls that have not ended`,
    resume: 'Open it',

    cost: 'Cost',
    price: 'Price of this call',
    balance: 'Your balance',
    afterwards: 'Balance after the call',
    notEnough: 'not enough',
    cover: 'Promised cover',
    fee: 'Network fee',
    deposit: 'Deposit (you get it back)',
    steps: 'What happens',
    signOnce: 'Your wallet signs one transaction.',
    signInFirst: 'Your wallet signs in to this service, which is free. Then it signs one transaction.',
    escrow: 'The price goes into escrow. Nobody can take it without a signed result.',
    works: (time: string) => `The agent works. It has ${time}.`,
    ends: (isBound: boolean, time: string) =>
        `With a signed result${isBound ? ' for exactly this call' : ''}, the creator is paid. Otherwise you get the whole price back, at the latest ${time} after you paid.`,
    publicTitle: 'The result is public.',
    publicText: 'Anyone can read it, forever, because its address is on chain. Do not ask for anything secret.',

    connect: 'Connect a wallet to pay.',
    checking: 'Checking …',
    reading: 'Reading the chain …',
    pay: (price: bigint) => `Pay ${formatUsdc(price)} USDC and run`,
    getMoney: 'Get 1 000 USDC and 10 SOL',
    sending: 'Sending money …',
    noNode: 'No Solana node',
    noNodeText: 'This service does not name a node for browsers. Use an API key or the command line.',
    seconds: (count: number) => {
        if (count % 60 !== 0 || count < 60) return `${count} seconds`;
        return count === 60 ? 'one minute' : `${count / 60} minutes`;
    },

    form: {
        noTask: 'Enter what the agent should do.',
        tooLarge: 'Task and parameters together are larger than 1 MiB.',
        notSendable: 'This cannot be sent.',
        noObject: 'Parameters are a JSON object, for example {"name": 1}.',
        number: 'Enter a number such as 12 or 0.5, with a point and without separators.',
        wholeNumber: 'Enter a whole number.',
        tooManyDigits: 'This number has too many digits to be sent exactly.',
        notJson: (why: string) => `This is not JSON: ${why}`,
        unreadable: 'it cannot be read',
        tooDeep: 'This JSON is nested too deeply.',
        notExact: (number: string) => `The number ${number} cannot be sent exactly. Send it as text in quotes.`,
        halfCharacter: 'The text contains half of a character. Type it again.',
        notAllowed: 'This is not allowed here.',
        // The validator's sentence goes on after these.
        wrongType: (type: string) => `This is of the type ${type}, but it must be `,
        value: 'The value ',
    },

    check: {
        slow: 'The schema of this agent takes too long to check in a browser.',
        noStart: 'The check of the parameters could not start.',
        impossible: 'A browser cannot check the schema of this agent.',
        otherWay: (why: string) =>
            `${why} Nothing was signed. The command line can call this agent: crtx execute --wallet.`,
    },

    terms: {
        unreachable:
            'The Solana network does not answer, so this page does not know price and balance. Check the connection, then try again.',
        noMarket: 'This Solana network has no crtx marketplace.',
        noAgent: 'The chain has no such agent. Perhaps its creator closed it.',
    },

    uncovered: {
        title: 'The promised collateral is missing',
        text: (promised: bigint, free: bigint) =>
            `The creator promises ${formatUsdc(promised)} USDC of free collateral, but open disputes leave only ${formatUsdc(free)} USDC. Choose another agent, or wait until the creator adds collateral.`,
    },

    obstacles: {
        network: {
            title: 'Another network',
            text: 'The Solana node that this page reads is on another network than the service. You cannot pay here.',
        },
        paused: {
            title: 'The marketplace is paused',
            text: 'It takes no new calls at the moment. Try again later.',
        },
        suspended: {
            title: 'The agent is suspended',
            text: 'The admin or the guardian of the marketplace stopped its new calls. Only the admin can resume it. Choose another agent.',
        },
        inactive: { title: 'The agent is paused', text: 'Its creator takes no calls at the moment.' },
        lowPrice: {
            title: 'The price is too low',
            text: (least: bigint) => `A call in this marketplace costs at least ${formatUsdc(least)} USDC.`,
        },
        newTerms: {
            title: 'The terms have just changed',
            text: 'The creator changed the agent, or the marketplace changed its rules. This page shows the new terms in a moment.',
        },
        cannotSign: 'Your wallet cannot sign this',
        own: { title: 'This agent is yours', text: 'You cannot call your own agent. Choose another wallet.' },
        walletNetwork: {
            title: 'Wrong network in your wallet',
            text: (chain: string) =>
                `This account is not for ${chain}. Change the network in your wallet, then connect it again.`,
        },
        usdc: {
            title: 'Too little USDC',
            text: (price: bigint, has: bigint) =>
                `The call costs ${formatUsdc(price)} USDC, and your wallet has ${formatUsdc(has)} USDC. Send USDC to your wallet first.`,
        },
        sol: {
            title: 'Too little SOL',
            text: (needed: bigint, has: bigint) =>
                `The network fee and the deposit for the record need ${formatSol(needed)} SOL, and your wallet has ${formatSol(has)} SOL. Send SOL to your wallet first.`,
        },
    },

    /** Why a call stopped. */
    stopped: {
        notPaid: (why: string) => `${why} Nothing was paid.`,
        rejected: { title: 'You did not sign', text: 'Nothing was sent and nothing was paid.' },
        altered: 'The wallet changed the transaction',
        expired: {
            title: 'The signature has expired',
            text: 'The network did not take the transaction in time. Nothing was paid.',
        },
        refused: 'The network refused the payment',
        offline: {
            title: 'No connection to Solana',
            text: 'The network does not answer. Nothing was sent and nothing was paid.',
            look: (why: string) => `The network does not answer, so nothing was sent. (${why})`,
            noAnswer: 'no answer',
        },
        other: { title: 'The call stopped', text: 'Something went wrong.' },
        unknown: {
            title: 'It is not known yet whether you paid',
            text: 'The connection broke after you signed. The chain decides: look again. Looking never pays.',
        },
        serviceSilent: 'The service does not answer.',
        serviceOffline: 'No connection to the service',
        notTaken: 'The service did not take the request',
        noService: 'No answer from the service',
        elsewhere: { title: 'This call is not in this browser', text: 'You started it elsewhere.' },
        otherWallet: {
            title: 'Another wallet is connected',
            text: (payer: string) =>
                `The account ${payer} pays for this call. Choose it in your wallet, then continue.`,
        },
        noNode: { title: 'No Solana node', text: 'This service names no Solana node for browsers.' },
        otherRequest: {
            title: 'This id belongs to another request',
            text: 'The record on the chain is not of this call.',
        },
        notLetIn: 'The service refused the sign-in',
        notSignedIn: {
            title: 'You did not sign in',
            text: 'The service takes a request only from the wallet that paid for it, so you have to sign in first.',
        },
        otherNetwork: {
            title: 'This is another network',
            text: 'You made the call for another Solana network.',
        },
        newTerms: {
            title: 'The terms have changed',
            text: 'Since you looked, the creator changed the price or the terms, or the marketplace changed its rules. Nothing was paid. Start again to see the new ones.',
        },
        otherTab: {
            title: 'This call runs in another tab',
            text: 'Continue there, or close that tab and try again here.',
        },
        notKept:
            'This browser does not store data for this page, so the page could not continue after a lost connection. Nothing was signed.',
    },

    progress: {
        fee: (sol: string) => `The network fee is ${sol} SOL.`,
        askingAgain: 'The service has not answered yet. The page asks again.',
    },
} as const;
