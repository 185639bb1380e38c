// What the wallet button, the sign-in and the state of a transaction say.

export const words = {
    wallet: 'Wallet',
    connect: 'Connect',
    choice: {
        title: 'Connect a wallet',
        none: 'No wallet found',
        install: 'Install a Solana wallet for this browser, then reload the page. Browsing works without one.',
        waits: 'waits for you',
        local: 'Built in, for this local network alone. Its money is worth nothing.',
        unusable: (names: string) =>
            `Found, but not usable here: ${names}. These wallets sign no messages, and no transaction that they do not send themselves. This page checks what was signed before it is sent.`,
    },
    connected: {
        local: 'Local network: nothing here has a value',
        actAs: 'Act as',
        account: 'Account',
        usdc: 'USDC',
        sol: 'SOL',
        funding: 'Sending money …',
        fund: 'Get 1\u202f000 USDC and 10 SOL',
        disconnect: 'Disconnect',
        disconnected: 'The wallet is disconnected',
    },
    gate: { title: 'Connect a wallet' },
    signIn: {
        title: 'Sign in',
        why: (why: string) => `${why} Your wallet signs a text, which costs nothing.`,
        again: 'Sign in again',
        ended: 'Your sign-in has ended.',
        other: (wallet: string) =>
            `This browser is signed in with ${wallet} now, and not with the account of this page.`,
        kept: 'What you wrote is kept. Sign in, then go on.',
        action: 'Sign in',
        waiting: 'Your wallet waits for you',
    },
    transaction: {
        busy: {
            preparing: 'The chain is being read …',
            simulating: 'The transaction is being tried out …',
            signing: 'Your wallet asks you to sign …',
            confirming: 'Sent. Waiting until the network confirms it …',
            indexing: 'Confirmed. Waiting until the lists show it …',
        },
        fee: (sol: string) => `The network fee is ${sol} SOL.`,
        done: 'Done',
        cannotSign: 'Your wallet cannot sign this',
        headlines: {
            rejected: 'You did not sign',
            refused: 'The program refuses this',
            expired: 'The signature has expired',
            unreachable: 'No connection to Solana',
            altered: 'The wallet changed the transaction',
        },
        unknown: 'It is not known yet whether it happened',
        failed: 'This did not work',
        next: {
            unknown: 'This page shows the chain again as soon as it answers. Look there before you sign again.',
            rejected: 'Nothing was sent. Press the button again when you want to sign.',
            expired: 'Nothing has changed. Press the button again and sign within a minute.',
            unreachable: 'Nothing was sent. Check the connection, then press the button again.',
            other: 'Nothing has changed.',
        },
        link: 'Transaction in the explorer',
    },
} as const;
