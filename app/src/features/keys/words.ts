// Every text of the API keys that a user reads.

import { formatCount, plural } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
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
    noName: 'Key without a name',
    spentWith: (name: string) => `Spent with ${name}`,
    spentTodayWith: (name: string) => `Spent today with ${name}`,
    today: ' today (UTC)',
    spentOf: (spent: bigint, cap: bigint, when: string) =>
        `${formatUsdc(spent)} of ${formatUsdc(cap)} USDC spent${when}`,
    left: (amount: bigint) => `${formatUsdc(amount)} left`,
    spentWithoutLimit: (spent: bigint) => `${formatUsdc(spent)} USDC spent; there is no limit.`,
    key: 'Key',
    perCall: 'Most for one call',
    perDay: 'Most for one day',
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

    approval: {
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
