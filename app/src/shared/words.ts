// What the shared parts say that are no components: requests, wallets, keys, names and amounts.

export const words = {
    service: {
        offline: 'The service does not answer. Check the connection, then try again.',
        status: (status: number) => `The service answered ${status}.`,
        empty: 'The answer of the service is empty.',
        signedOut: 'You are no longer signed in. Sign in, then do this again. The page keeps what you wrote.',
        newer: 'The service has a newer version of this page. Load the page again.',
    },
    wallet: {
        connect: 'Connect a wallet first.',
        noNode: 'This service names no RPC node that a page may use.',
        otherNetwork: (chain: string) =>
            `This account is not for ${chain}. Change the network in your wallet, then connect it again.`,
        otherAccount: 'Another account is connected now. Look at the page again, then sign with that one.',
        wrongText: 'The text to sign is not for this page, wallet and network.',
        noMessages: 'sign messages, so it cannot sign in here',
        noTransactions: 'sign a transaction without sending it, so it cannot pay or change anything here',
        cannot: (wallet: string, what: string) =>
            `This account of ${wallet} cannot ${what}. Connect another account or wallet for that.`,
        cannotSignMessages: 'The wallet cannot sign messages.',
        cannotSignTransactions: 'The wallet cannot sign transactions.',
        noSignature: 'The wallet returned no signature.',
        otherText: 'The wallet did not sign the text that this page gave it.',
        noTransaction: 'The wallet returned no transaction.',
        failed: 'Something went wrong.',
    },
    local: {
        name: 'Local test wallet',
        fresh: 'New wallet',
        none: 'This service has no demo wallets.',
        noStorage: 'The database of this browser does not answer.',
        noMoney: 'Only `crtx up` gives away money.',
        noAccount: (address: string) => `The local wallet has no account ${address}.`,
    },
    resultKey: {
        none: 'Paste the public key, or make a new key.',
        fileTooLong: 'This file is too long for a key file.',
        secret: 'This is as long as a secret key. Paste the public key alone, which has 32 to 44 characters.',
        noKey: 'A public key has 32 to 44 letters and digits (base58).',
        weak: 'Anybody can sign for this key. Use another one.',
        ofProgram: 'This address belongs to a program. Nothing can sign for it.',
        halves: 'The second half of this key file is not the public key of its first half.',
        noFile: 'A key file is a JSON array of 64 numbers from 0 to 255.',
    },
    name: {
        empty: 'Write a name.',
        spaces: 'A name has no space around it.',
        tooLong: (most: number, count: number) => `A name has at most ${most} characters, and this one has ${count}.`,
        hidden: 'A name has visible characters only: no line breaks, no combined emoji, nothing hidden.',
    },
    amount: {
        noNumber: 'Write an amount such as 0.25, with a point and without separators.',
        decimals: 'USDC has at most six decimals.',
        tooLarge: 'This amount is too large.',
    },
    paused: { calls: 'no new calls', listings: 'no new listings' },
    noCover: 'none',
} as const;
