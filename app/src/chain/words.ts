// What transactions say while they are made, signed, sent and refused.

export const words = {
    noMarket: 'This Solana network has no crtx marketplace.',
    noTiers: 'The marketplace has no collateral tiers.',
    noClock: 'The Solana node does not say what time it is on the chain.',
    unreachable: 'The Solana network does not answer. Nothing was sent; try again.',
    notSigned: 'The wallet did not sign.',
    noAnswer: 'The wallet has not answered for three minutes. Nothing was sent.',
    notTaken: 'The network did not take the transaction in time. Sign it again.',
    unknown: 'The network does not answer. It may have taken the transaction: look before you sign again.',
    addedFails: 'The transaction cannot succeed with what the wallet added. ',

    refused: {
        /** `said`: the program's own words. */
        byProgram: (said: string) => `The program refuses this: ${said}.`,
        meaning: 'The program refuses this.',
        noSol: 'The wallet has no SOL to pay the network fee.',
        byChain: (error: string) => `The chain refuses the transaction: ${error}`,
        /** By the program's number (`MarketplaceError`). */
        meanings: {
            10: 'The guardian stops new calls, new listings and agents. Only the admin resumes them.',
            113: 'Choose a key that has none of these roles.',
            152: 'Letters of several scripts can look like those of another name, so such a name gets no badge. The creator chooses a name with letters of one script, and asks again.',
            217: 'The admin or the guardian of the marketplace has stopped new calls of this agent, and only the admin resumes it. Choose another agent.',
            313: 'Only the gateway hands in a failure that the creator has signed. A creator reports a failure itself, without a signed text.',
            610: 'The key has spent what its owner allows for one day. It can pay again from 00:00 UTC on, or as soon as its owner raises the limit.',
        } as Readonly<Record<number, string>>,
    },

    /** What is wrong with a transaction that the wallet returned. */
    returned: {
        what: (why: string) => `What the wallet returned ${why}, so it was not sent.`,
        staleBlockhash:
            'What the wallet returned has another blockhash, which the network does not take: it is too old, or no blockhash. It was not sent.',
        unsigned: (address: string) => `is not signed by ${address}`,
        notWhole: 'is not a whole transaction with one signature for each account that signs',
        unreadable: 'cannot be read',
        version: 'has a version that this page does not know',
        lookup: 'takes accounts from an address lookup table, which this page did not name',
        noAccount: 'names an account that it does not have',
        twice: 'names an account twice',
        unknownBudget: 'has a compute budget instruction that this page does not know',
        budgetTwice: 'sets the same compute budget twice, which the chain refuses',
        otherPayer: (address: string) => `is paid and signed by another account, ${address}`,
        fee: (fee: string, most: string) => `has a priority fee of ${fee} SOL; at most ${most} SOL is accepted`,
        between: (program: string) =>
            `has an instruction of ${program} between the proof and the settlement that needs it directly before`,
        lacks: (program: string) => `lacks an instruction of ${program}`,
        order: 'has its instructions in another order',
        other: (program: string) => `has another instruction of ${program} than this page asked for`,
        added: (what: string) => `has an added instruction: ${what}`,
        transfer: (amount: string, to: string) => `a transfer of ${amount} SOL to ${to}`,
        nobody: 'nobody',
        nonce: 'a durable nonce, with which somebody could send the transaction at any later time',
        oneOf: (program: string) => `one of ${program}`,
        signer: (address: string) => `needs a signature of ${address}, too`,
        role: (address: string, isWritable: boolean) =>
            `gives the account ${address} another role: it ${isWritable ? 'can be changed' : 'cannot be changed'}`,
        program: (name: string) => `the ${name} program`,
        unknownProgram: (address: string) => `the program ${address}`,
    },
} as const;
