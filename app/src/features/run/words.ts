// The words of the form of a call, and of what stands around its payment.

import { formatUsdc } from '../../shared/money';

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
} as const;
