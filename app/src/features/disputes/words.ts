// Every text of the disputes that a user reads.

import { formatCount, plural } from '../../shared/figures';
import { formatSol, formatUsdc } from '../../shared/money';
import type { Role, Status } from './search';
import type { Part, Turn } from './state';

const statuses: Record<Status, string> = {
    open: 'Open',
    upheld: 'Upheld',
    rejected: 'Rejected',
    expired: 'Expired',
    cancelled: 'Cancelled',
    abusive: 'Abusive',
};

/** What the end of a dispute is called. */
const ends: Record<Status, string> = {
    open: 'Decided',
    upheld: 'Decided',
    rejected: 'Decided',
    abusive: 'Decided',
    expired: 'Ended',
    cancelled: 'Cancelled',
};

const turns: Record<Turn, string> = {
    creator: 'The creator’s answer',
    resolver: 'The resolver’s decision',
    anybody: 'Anybody can end it',
    nobody: '–',
};

const parts: Record<Part, string> = { caller: 'Caller', creator: 'Creator', resolver: 'Resolver' };

const nothing: Record<Role, string> = {
    caller: 'You have raised no dispute. If the result of a paid call is wrong, you can raise one within the dispute window.',
    creator: 'Nobody disputes a result of your agents.',
    resolver: 'No dispute waits for your decision.',
};

/** The bond, with its amount where it is known. */
const theBond = (bond: bigint | null): string => (bond === null ? 'the bond' : `the bond of ${formatUsdc(bond)} USDC`);

export const words = {
    statuses,
    ends,
    turns,
    parts,
    none: '–',
    usdc: (amount: bigint) => `${formatUsdc(amount)} USDC`,
    sol: (lamports: bigint) => `${formatSol(lamports)} SOL`,
    paidUsdc: 'Paid, USDC',
    raise: 'Raise a dispute',
    lookAgain: 'Look again',
    preview: 'What happens',
    now: 'now',
    noMarket: 'This Solana network has no crtx marketplace.',
    noListing: 'The listing of the agent is closed.',

    list: {
        title: 'Disputes',
        whySignIn: 'Disputes are shown only to the caller, the creator and the resolver.',
        one: 'dispute',
        total: (count: number) =>
            `${plural(count, 'dispute')}.${count < 2 ? '' : ' Open ones come first, the most urgent at the top.'}`,
        about: 'Dispute about',
        youAre: 'You are',
        state: 'State',
        waitsFor: 'Waits for',
        due: 'Decision due',
        yourAnswer: 'Your answer',
        yourDecision: 'Your decision',
        toCaller: (amount: bigint) => `Ended: ${formatUsdc(amount)} USDC to the caller`,
        bondToCreator: 'Ended: the bond to the creator',
        bondBack: 'Ended: the bond back to the caller',
        yourPart: 'Your part',
        roles: { all: 'All', caller: 'Raised by you', creator: 'About your agents', resolver: 'To decide' },
        everyState: 'Every state',
        noneWith: (status: Status) => `No dispute is ${statuses[status].toLowerCase()}`,
        none: 'There is no dispute',
        otherState: 'Look for disputes in another state.',
        nothing,
        showAll: 'Show every state',
    },

    due: {
        over: 'Time is up',
        late: (span: string) => `${span} late`,
        now: 'due now',
    },

    choose: {
        none: 'There is nothing to dispute',
        noneHint:
            'A dispute is about a result that you paid for. For a call that failed, you get your money back without one.',
        allAgents: 'Show all agents',
        which: 'Which execution is it about? You paid for these. The next page shows whether there is still time.',
        caption: 'Paid executions',
        execution: 'Execution',
        finished: 'Finished',
        one: 'execution',
    },

    raising: {
        whySignIn: 'Only the wallet that paid for an execution can dispute it.',
        noNode: 'This service names no Solana node that this page can ask.',
        about: 'What it is about',
        impossible: 'You cannot raise a dispute',
        showDispute: 'Show the dispute',
        showExecution: 'Show the execution',
        execution: 'Execution',
        executionId: 'execution id',
        agent: 'Agent',
        show: 'Show',
        paid: 'You paid',
        windowEnds: 'Window ends',
        over: 'over',
        proof: 'Result and proof',
        cost: 'What it costs',
        bond: 'Bond',
        deposit: 'Deposit (you get it back)',
        fee: 'Network fee',
        bondHint:
            'The bond goes from your wallet into the escrow of the agent. You get it back when the dispute ends, unless the resolver finds that you knew the claim to be false. You get the deposit back when the record of the execution is closed, after its dispute window.',
        outcomes: 'How it can end',
        /** What each end means: its name, and what follows. */
        outcome: (paid: bigint | null) => [
            [
                'Upheld:',
                `you get up to ${paid === null ? 'what you paid' : `${formatUsdc(paid)} USDC`} back, out of the creator’s collateral. The resolver decides how much.`,
            ],
            ['Rejected:', 'the creator keeps the price.'],
            ['Rejected as abusive:', 'the creator keeps the price and gets your bond.'],
            ['Cancelled by you:', 'you can do that until it ends. The creator keeps the price.'],
            [
                'Not decided within 30 days:',
                'anybody can end it. The creator keeps the price. Only if there is no resolver, you get what the collateral covers.',
            ],
        ],
        rules: 'The creator can answer. The resolver aims to decide within 72 hours. An execution can have only one dispute.',
        form: 'Dispute',
        wrong: 'What is wrong',
        public: 'Evidence is public',
        publicHint:
            'The service stores text and files under their hash, and the hash is on the chain. Everybody who knows it can read them, and nobody can take them back. Leave out secrets.',
        text: 'What happened',
        textHint:
            'Quote what you asked for, and say what is wrong with the result. The resolver sees the result, but not your task.',
        busy: 'Raising the dispute …',
        submit: 'Raise the dispute',
        done: 'The dispute is raised. Its page opens now.',
        noRecord: 'There is no record.',
        newBond: (bond: bigint) =>
            `The bond has just changed to ${formatUsdc(bond)} USDC. Check it, then raise the dispute again.`,
    },

    /** Why an execution cannot be disputed. */
    obstacles: {
        noRecord:
            'The chain has no record of this execution for your wallet. A record is closed some time after its dispute window.',
        disputed: 'You have already disputed this execution. It can have one dispute.',
        unfinished: 'The execution is not finished. If there is no good result in time, you get the price back.',
        refunded: 'You have already got the price back, so there is nothing to dispute.',
        disputedBefore: 'The execution was disputed before. It can have one dispute.',
        settledByCaller: 'You settled this execution yourself, so you cannot dispute it.',
        late: 'The time for a dispute is over.',
        shortOfUsdc: (bond: bigint, has: bigint) =>
            `A dispute needs a bond of ${formatUsdc(bond)} USDC and your wallet has ${formatUsdc(has)} USDC. Send USDC to your wallet first.`,
        shortOfSol: 'Your wallet has too little SOL for the deposit and the network fee. Send SOL to it first.',
    },

    page: {
        title: 'Dispute',
        whySignIn: 'A dispute is shown only to its caller, the creator and the resolver.',
        // The name of the agent follows.
        about: 'About a call of',
        noNode: 'This page cannot read the chain',
        noNodeHint:
            'This service names no Solana node that this page can ask, so you can check and decide nothing here. Use the command line: crtx dispute show.',
        unreachable: 'The chain cannot be read, so you can check and decide nothing here.',
        state: 'State of the dispute',
        notShown: 'This wallet has no such dispute',
        notShownHint:
            'Only its caller, the creator of the agent and the resolver see a dispute. Change the account in your wallet, or check the address of this page. A new dispute can take a few seconds to appear.',
        caller: 'What the caller says',
        creator: 'What the creator says',
        noAnswerYet: 'Nothing yet.',
        noAnswer: 'Nothing: the creator did not answer.',
        reasons: 'Reasons for the decision',
    },

    outcome: {
        upheld: 'Upheld: the caller was right',
        upheldHint: (back: bigint, paid: bigint, penalty: bigint) =>
            `The caller got ${formatUsdc(back)} of ${formatUsdc(paid)} USDC back, out of the agent’s collateral.${
                penalty > 0n ? ` The insurance got a penalty of ${formatUsdc(penalty)} USDC.` : ''
            } The execution no longer counts as successful.`,
        rejected: 'Rejected: the result stands',
        abusive: 'Rejected as abusive: the result stands',
        cancelled: 'Cancelled by the caller',
        expired: 'Ended without a decision',
        why: {
            rejected: '',
            cancelled: 'The caller cancelled the dispute. ',
            expired: 'Nobody decided within 30 days. ',
            abusive: 'The resolver found that the caller knew the claim to be false. ',
        },
        noResolver: (back: bigint, paid: bigint) =>
            `There was no resolver, so the caller got ${formatUsdc(back)} of ${formatUsdc(paid)} USDC back, out of the agent’s collateral.`,
        kept: 'The creator keeps the price and the collateral.',
        bondToCreator: (bond: bigint | null) => `The creator also got ${theBond(bond)}.`,
        bondBack: (bond: bigint | null) => `The caller got ${theBond(bond)} back.`,
        final: 'Nobody can dispute the execution again.',
    },

    facts: {
        title: 'Facts',
        state: 'State',
        paid: 'Paid for the call',
        bond: 'Bond',
        back: 'Back to the caller',
        penalty: 'Penalty',
        agent: 'Agent',
        decidedBy: 'Decision by',
        decider: 'address of who decided',
        dispute: 'Dispute',
        you: 'You',
        addressOf: {
            caller: 'address of the caller',
            creator: 'address of the creator',
            resolver: 'address of the resolver',
        },
        transactions: 'Transactions',
        raised: 'Raised',
        answered: 'Answered',
        signature: 'signature',
    },

    clocks: {
        title: 'Times',
        raised: 'Raised',
        raisedHint: 'The agent’s collateral stays locked while a dispute is open.',
        answered: 'Answered',
        answeredOpen: 'The resolver can uphold or reject it.',
        answeredOver: 'There is only one answer, and nobody can change it.',
        upholdable: 'Can be upheld',
        upholdableHint: 'As soon as the creator answers, or after 24 hours. The resolver can reject it at any time.',
        due: 'Decision due',
        dueHint: 'The resolver aims to decide within 72 hours. Nothing ends when this time passes.',
        expires: 'Ends undecided',
        expiresHint:
            'After 30 days anybody can end it. Then the creator keeps the price, and the caller gets the bond back. If there is no resolver, the caller also gets what the collateral covers.',
        final: 'This is final.',
    },

    proof: {
        title: 'The execution and its proof',
        own: 'Your execution with its steps',
        record: 'Record on the chain',
        opened: 'Opened',
        finished: 'Finished',
        took: 'Took',
        settledBy: 'Settled by',
        settlers: { caller: 'the caller', creator: 'the creator', service: 'the service', unknown: 'unknown' },
        signedFor: 'Result signed for',
        thisCall: 'this call',
        itsContent: 'its content',
        collateral: 'Collateral of the agent',
        disputed: 'In open disputes',
        noResult: 'The result cannot be shown',
        missing: 'The service does not have the content that the record names.',
        altered: 'The service sent other content than the record names.',
    },

    statement: {
        elsewhere: 'The chain names another place for it, which this page does not open:',
        checking: 'Checking …',
        missing: 'Not stored here',
        altered: 'Not what the chain names',
        same: 'Same as on the chain',
        notRead: 'Chain not read',
        hash: 'hash',
        missingTitle: 'This service does not have the document',
        missingHint: 'The chain has only its hash. The author can still store the document here at any time.',
        alteredTitle: 'This is not the document',
        alteredHint: 'The service sent other content than the chain names, so this page does not show it.',
        bytes: 'The document is not text.',
        bytesName: 'evidence',
        files: 'Files',
        matches: 'Hash matches',
        notChecked: 'Not checked',
        fileAltered: 'Altered',
        save: 'Save',
        saveFile: (name: string) => `Save ${name}`,
        answers: (status: number) => `The service answers ${status} for this content.`,
    },

    evidence: {
        files: 'Files that prove it (optional)',
        chosen: 'Chosen files',
        remove: 'Remove',
        removeFile: (name: string) => `Remove ${name}`,
        most: (count: number, size: string) => `Up to ${count} files, ${size} together.`,
        used: (count: number, most: number, size: string, mostSize: string) =>
            `${count} of ${most} files, ${size} of ${mostSize}.`,
        noText: 'Enter what happened and why.',
        longText: (count: number, most: number) =>
            `The text has ${formatCount(count)} characters. At most ${formatCount(most)} are possible.`,
        control:
            'The text contains a control character that cannot be shown. Type the text, or paste it as plain text.',
        half: 'The text contains half of a character. Remove what your browser shows as \ufffd.',
        manyFiles: (most: number, over: number) => `At most ${most} files are possible. Remove ${over}.`,
        emptyFile: (name: string) => `The file ${name} is empty. Remove it.`,
        largeFiles: (size: string, most: string) => `The files have ${size}. At most ${most} together are possible.`,
        unreadable: (name: string) =>
            `This browser can no longer read the file ${name}. Remove it and choose it again.`,
        otherStored: 'The service stored another document than this one. Nothing was sent to the chain.',
        notReadBack: 'This page cannot read back what the service stored. Nothing was sent to the chain. Try again.',
    },

    /** Why an action is refused before it is signed. */
    refusals: {
        noDispute: 'The chain has no such dispute.',
        notCreator:
            'Only the creator of the agent can answer this dispute. Choose the creator’s account in your wallet.',
        notAnswerable: (status: string | undefined) => `The dispute is ${status}, so nobody can answer it any more.`,
        answered: 'The dispute already has its answer, and it can have only one.',
        notResolver: 'Only the resolver decides disputes. Choose the resolver’s account in your wallet.',
        ownDispute: 'You raised this dispute, so you cannot decide it.',
        already: (status: string | undefined) => `The dispute is ${status} already.`,
        early: 'The creator can still answer, so you cannot uphold the dispute yet.',
        notRaiser: 'Only the caller who raised the dispute can cancel it. Choose that account in your wallet.',
        undecided: 'The resolver still has time to decide.',
        newCollateral: 'The collateral of the agent has just changed. Look at the preview again, then decide.',
        newResolver: 'The resolver has just changed. Look at the page again.',
    },

    /** Why an amount cannot be taken. */
    slash: {
        broken: 'The accounts of this dispute contradict each other.',
        overCollateral: (collateral: bigint) => `The collateral has only ${formatUsdc(collateral)} USDC.`,
        overOthers: (most: bigint) =>
            `At most ${formatUsdc(most)} USDC: the rest of the collateral covers earlier disputes about this agent.`,
        overLimit: (most: bigint) =>
            `At most ${formatUsdc(most)} USDC can be taken for this call: the limit was fixed when the call was opened.`,
        penaltyLeaves: (paid: bigint, others: bigint) =>
            `If you take more than the ${formatUsdc(paid)} USDC that were paid, ${formatUsdc(others)} USDC must remain for the other open disputes about this agent.`,
        beforeTerm: (paid: bigint) =>
            `At most the ${formatUsdc(paid)} USDC that were paid: the dispute is older than your time in office.`,
    },

    turn: {
        answer: 'Answer this dispute',
        toAnswer: 'Answer',
        answerInTime: 'You have 24 hours. After that, the resolver can uphold the dispute without your answer.',
        answerLate:
            'The resolver can uphold the dispute without your answer now. You can still answer until the decision.',
        decide: 'This dispute waits for your decision',
        toDecide: 'Decide',
        decideHint: 'Read both sides and check the result first.',
        expire: 'The time for a decision is over',
        toExpire: 'End it',
        expireHint: 'You can end the dispute. Then the creator keeps the price, and the caller gets the bond back.',
    },

    answer: {
        title: 'Answer the dispute',
        once: 'You can answer only once. The answer is on the chain, and nobody can change it.',
        effect: 'After your answer the resolver can uphold the dispute at once. Without one, the resolver has to wait 24 hours.',
        cost: (fee: string) => `Text and files are public. It costs the network fee of ${fee}.`,
        text: 'Your answer',
        textHint:
            'Say why the result is what the caller asked for. Add what proves it, such as the request that you received.',
        busy: 'Answering …',
        submit: 'Send the answer',
        done: 'Your answer is on the chain. The resolver can decide now.',
    },

    decide: {
        title: 'Decide',
        who: 'Who is right?',
        uphold: 'Uphold: the caller is right',
        upholdHint:
            'The caller gets money back out of the collateral, and the bond. The execution counts as not successful.',
        // A moment stands between the two.
        stillAnswer: 'The creator can still answer. You can uphold it',
        orAnswered: 'or as soon as there is an answer.',
        reject: 'Reject: the creator is right',
        rejectHint: 'The result stands, and the caller gets the bond back.',
        abusive: 'Abusive: the creator is right, and the caller knew it',
        abusiveHint: (bond: bigint) => `The result stands, and the creator gets the bond of ${formatUsdc(bond)} USDC.`,
        missing: 'Choose one of the three.',
        slash: 'Take from the collateral, in USDC',
        slashHint: (paid: bigint, most: bigint) =>
            `The first ${formatUsdc(paid)} USDC, which is the price, go to the caller. The rest is a penalty for the insurance. At most ${formatUsdc(most)} USDC.`,
        rejected: (bond: bigint) =>
            `The execution stays completed, and the creator keeps the price and the collateral. The caller gets the bond of ${formatUsdc(bond)} USDC back.`,
        abused: (bond: bigint) =>
            `The execution stays completed, and the creator keeps the price and the collateral. The creator also gets the caller’s bond of ${formatUsdc(bond)} USDC.`,
        reasons: 'Reasons',
        reasonsHint: 'Both sides read them. They are public, and the chain has their hash with the decision.',
        cost: (fee: string) =>
            `The decision is final. It costs the network fee of ${fee}, and about 0.002 SOL for each USDC account that is paid and does not exist yet.`,
        busy: 'Deciding …',
        sign: 'Sign the decision',
        signReject: 'Sign: reject the dispute',
        signAbusive: 'Sign: reject it as abusive',
        signUphold: 'Sign: uphold the dispute',
        signSlash: (slash: bigint) => `Sign: uphold and take ${formatUsdc(slash)} USDC`,
        done: 'The decision is on the chain. It is final.',
        toCaller: 'To the caller',
        penalty: 'Penalty, to the insurance',
        collateralNow: 'Collateral now',
        collateralAfter: 'Collateral afterwards',
        required: 'Needed for its price',
        nothingBack: 'The caller is right, but gets nothing back.',
        pauses: (missing: bigint) =>
            `This pauses the agent until its creator adds at least ${formatUsdc(missing)} USDC.`,
        inactive: 'The agent is not active, so nothing else changes for it.',
        enough: 'The agent keeps enough collateral for its price.',
    },

    cancel: {
        title: 'Cancel the dispute',
        effect: (bond: bigint, fee: string) =>
            `You get the bond of ${formatUsdc(bond)} USDC back, and no other money moves. The creator keeps the price. This is final: the execution cannot be disputed again. It costs the network fee of ${fee}.`,
        busy: 'Cancelling …',
        submit: 'Cancel the dispute',
        done: 'The dispute is cancelled. You have the bond back.',
    },

    expire: {
        title: 'End it without a decision',
        effect: (bond: bigint, compensation: bigint, fee: string) =>
            `Nobody decided within 30 days. If you end the dispute, the collateral becomes free, and the caller gets the bond of ${formatUsdc(bond)} USDC back. ${
                compensation > 0n
                    ? `There is no resolver, so the caller also gets ${formatUsdc(compensation)} USDC out of the collateral. `
                    : ''
            }The creator keeps the price, and nobody can dispute the execution again. It costs the network fee of ${fee}. After a while the service also does it by itself.`,
        busy: 'Ending …',
        submit: 'End the dispute',
        done: 'The dispute has ended without a decision.',
    },
} as const;
