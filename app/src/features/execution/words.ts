// What the pages of executions, their results and their checks say.

import { formatCount, plural } from '../../shared/figures';
import { spanText } from '../../shared/time/spans';

export const words = {
    title: 'Execution',
    callOf: 'Call of ',
    id: 'execution id',
    agent: 'About this agent',
    task: 'Task',
    whySignIn: 'Only the wallet that paid for an execution can see it.',
    notMine: 'This wallet has no such execution',
    notMineText:
        'Another wallet may have paid for it. Change the account in your wallet, or check the address of this page.',
    usdc: (amount: string) => `${amount} USDC`,
    now: 'now',
    busy: 'In progress …',

    cost: {
        title: 'Cost',
        paid: 'You paid',
        creator: 'Creator',
        marketplace: 'Marketplace',
        tokens: 'Tokens, as reported',
        record: 'Record in the explorer',
    },

    progress: {
        looking: 'Looking at the chain …',
        signingIn: 'Your wallet asks you to sign in. It costs nothing.',
        checking: 'Checking the terms …',
        signing: 'Your wallet asks you to sign the payment.',
        signingText: (price: string) => `It moves ${price} into the escrow, once.`,
        confirming: 'Sent. Waiting for the network to confirm it …',
        handingOver: 'The price is in the escrow. Handing the request to the agent …',
        working: 'The agent has the request.',
        reload: 'You can reload this page at any time. You never pay twice.',
        connect: 'Connect the wallet of this call',
        connectText: (wallet: string) =>
            `This call belongs to the wallet ${wallet}. Connect it at the top of the page to continue.`,
        notHandedOver: 'Paid, and not handed over yet',
        notPaid: 'Not paid yet',
        notPaidText: 'You chose this call, and you have not paid for it.',
        paused: 'The marketplace takes no new calls at the moment, so you cannot pay.',
        pay: (price: string) => `Sign and pay ${price}`,
        again: 'Try again',
        handOver: 'Hand the request over',
        look: 'Look again',
        change: 'Change the request',
        inEscrow: (price: string) => `${price} are in the escrow. Without a signed result your wallet gets them back`,
        inEscrowAfter: ' after ',
    },

    outcome: {
        running: 'The call is in progress',
        runningText:
            'The price is in the escrow. The creator gets it for a signed result; otherwise you get it back. You can close this page.',
        disputed: 'Disputed',
        disputedText: 'You paid for the result and dispute it. The creator has locked collateral for it.',
        done: 'Done',
        doneText: (cost: string) => `The creator signed the result and was paid. It cost ${cost} USDC.`,
        compensated: (amount: string) => ` After a dispute you got ${amount} USDC back.`,
        notCompensated: ' A dispute about it ended, and you got no compensation.',
        upheld: 'A dispute was upheld',
        upheldText: (compensation: string, cost: string) =>
            `You got ${compensation} USDC back. In the end the call cost ${cost} USDC.`,
        failed: 'No result, and your money is back',
        failedText: 'The execution failed.',
        /** By the code of the error. The service's own sentence follows. */
        reasons: {
            execution_timeout: 'The agent did not answer in time.',
            execution_failed: 'The agent did not deliver a good result.',
            interrupted:
                'The service was interrupted and could not ask the agent again in time. The agent is not to blame.',
            result_unavailable:
                'The execution was settled on the chain without this service, which does not have the result.',
        } as Readonly<Record<string, string>>,
        refunded: (amount: string) =>
            `${amount} USDC went from the escrow back to your wallet. The timeline links to the transaction.`,
        notMoved: 'No money left your wallet.',
        back: 'The whole price is back in your wallet.',
        again: 'Run again with changes',
    },

    dispute: {
        raise: 'Raise a dispute',
        hint: 'If the result is not what you agreed on. The time for it ends ',
        show: 'Show the dispute',
    },

    timeline: {
        title: 'Timeline',
        states: { done: 'done', now: 'in progress', later: 'to come', bad: 'ended here', skipped: 'skipped' },
        /** The clocks of browser and chain differ by seconds, so less than one is no span. */
        after: (seconds: number) => (seconds < 1 ? 'within a second' : `after ${spanText(seconds)}`),
        reserved: 'Reserved',
        hasId: 'The call has its id.',
        escrow: 'Escrow',
        noMoney: 'No money moved.',
        toEscrow: 'The price goes into the escrow.',
        toEscrowOf: (price: string) => `The price of ${price} USDC goes into the escrow.`,
        reading: 'Reading the chain …',
        running: 'Running',
        asked: 'The service asked the agent.',
        took: (time: string) => `The agent took ${time}.`,
        waiting: 'The service asked the agent and waits for the answer.',
        asks: 'The service asks the agent.',
        signed: 'Signed',
        noResult: 'There is no signed result.',
        wasSigned: 'The creator signed the hash of the result.',
        signs: 'The creator signs the result.',
        settled: 'Settled',
        refunded: 'Refunded',
        kept: 'All of the money stays with you.',
        pays: 'The escrow pays the creator.',
        transaction: (signature: string) => `Transaction ${signature} in the explorer`,
    },

    result: {
        title: 'Result',
        soon: 'The result appears here when the call is done.',
        none: 'There is no result.',
        tooLate: 'There is no result, and it is too late to settle one.',
        asText: 'Show as text',
        asTree: 'Show as tree',
        copy: 'result',
        save: 'Save',
        empty: 'The result is empty.',
        steps: 'Steps',
        stepsAbout: 'What the agent says about its work. The creator does not sign it.',
        step: (number: number) => `Step ${number}`,
        moreSteps: (count: number) => `Show more of ${formatCount(count)} steps`,
        emptyList: 'empty list',
        emptyObject: 'empty object',
        emptyText: 'empty text',
        more: (count: number) => `Show more of ${formatCount(count)}`,
        entries: (count: number) => plural(count, 'entry', 'entries'),
        members: (count: number) => plural(count, 'member'),
        whole: (count: number) => `Show all ${formatCount(count)} characters`,
    },

    give: {
        title: 'If you have the result, give it to the service',
        field: 'Result',
        hint: 'Exactly as the creator signed it. You sign and pay nothing.',
        checking: 'Checking …',
        submit: 'Check and store the result',
        otherText: 'This text is not the result: its hash is not the one in the record.',
        noService: 'The service does not answer.',
        refused: (status: number) => `The service answered ${status}.`,
    },

    ending: {
        late: 'Nobody has settled this call in time',
        lateText: (amount: string) => `${amount} USDC are still in the escrow. The deadline was `,
        lateHint: (fee: string) =>
            `, so it is too late to settle a result. The service usually refunds you about a minute after the deadline. You can also do it yourself: your wallet signs one transaction, and the network fee is ${fee}.`,
        refund: 'Take the money back',
        refunded: 'The wallet that paid has the whole price back.',
        open: 'If the service does not end it: you can take the money back ',
        until: 'Until ',
        untilText: (amount: string) =>
            ` anybody can settle this call with a result that the creator signed. After that, you can take the ${amount} USDC back here.`,
        tooEarly: (left: string) =>
            `By the clock of the chain the deadline has not passed yet. You can take the refund in ${left}.`,
        tooLate: 'The deadline has passed, so the execution can only be refunded.',
        gone: 'The chain has no such execution. Someone may have closed it.',
        alreadyRefunded: 'The execution is already refunded. The price is back.',
        alreadySettled: 'The execution is already settled. The creator is paid.',
        otherAccount: 'Only the caller and the creator can settle this execution. Choose that account in your wallet.',
        noMarket: 'This Solana network has no crtx marketplace.',
        noAgent: 'The chain has no such agent.',
    },

    settle: {
        title: 'Settle it with the creator’s signed answer',
        pays: (creator: string, platform: string) =>
            `The escrow pays ${creator} USDC to the creator and ${platform} USDC to the marketplace.`,
        final: 'The result counts as delivered. You cannot dispute a call that you settle yourself.',
        signs: (fee: string) => `Your wallet signs one transaction. The network fee is ${fee}.`,
        field: 'Answer of the creator (JSON)',
        hint: 'The object with result, signature, and call_signature if the agent signs for each call. The page checks it before you sign.',
        submit: 'Check, sign and settle',
        file: 'or load it from a file:',
        fileTooLarge: 'This file is too large for an answer.',
        done: 'The execution is settled.',
        notStored: 'The execution is settled, but the service does not have the result yet.',
        otherExecution: 'This answer is for another execution.',
        failure: 'The answer reports a failure, so there is nothing to settle.',
        noResult: 'The answer has no text in “result”.',
        resultTooLarge: 'The result is larger than 1 MiB.',
        otherHash: '“result_hash” is not the SHA-256 of “result”.',
        noJson: 'This is not JSON. Paste the whole answer of the creator, with its braces.',
        noObject: 'The answer of a creator is an object in braces.',
        badSignature: (name: string) =>
            `“${name}” is not a signature: a signature begins with ed25519: and has 64 bytes in base58.`,
        badTokens: '“tokens_used” is a whole number of at most 1 000 000 000.',
        wrongKey: 'The agent’s result key did not make this signature for this result.',
        noCallSignature: 'This agent signs each result for its call. The answer has no call_signature.',
        otherCall: 'The call_signature is not for this execution.',
    },

    share: {
        title: 'Share the proof',
        about: 'Anybody can open it, without a wallet. It shows the result, so share it only if the result may be public.',
        link: 'proof link',
        open: 'Open the proof',
    },

    verify: {
        title: 'Verify',
        about: 'Your browser hashes the content, verifies the signature and reads record and transactions from Solana itself. It does not believe what this service says.',
        start: 'Verify now',
        again: 'Verify again',
        busy: 'Verifying …',
        noNode: 'Nothing was checked: the Solana node does not answer. Check the connection, then verify again.',
        passed: 'Verified',
        failed: 'NOT verified',
        allPassed: (count: number) => `All ${count} checks passed.`,
        allPassedRefund: (count: number) =>
            `All ${count} checks passed: there is no result, and all of the money went back.`,
        someFailed: (failed: number, count: number) =>
            `${failed} of ${count} checks failed. Each says what it expected and what it found.`,
        states: { passed: 'passed', failed: 'FAILED', unchecked: 'not checked' },
        expected: 'Expected',
        found: 'Found',
        trust: 'What you trust when you verify here',
        trustNode: 'The Solana node, which this service names. A node could lie about the chain:',
        trustProgram: 'The address of the program, which is built into this page:',
        trustCode: 'The code of this page, which this service sends, and the Ed25519 and SHA-256 of your browser.',
        trustNone: 'To trust none of these, use a node and a program of your own:',
    },
} as const;
