// What the pages of executions, their results and their checks say.

import { spanText } from '../../shared/time/spans';

export const words = {
    /** The clocks of browser and chain differ by seconds, so less than one is no span. */
    after: (seconds: number) => (seconds < 1 ? 'within a second' : `after ${spanText(seconds)}`),
    expected: 'Expected',
    found: 'Found',
    checkStates: { passed: 'passed', failed: 'FAILED', unchecked: 'not checked' },
    verify: 'Verify',
    verifyAbout:
        'Your browser hashes the content, verifies the signature and reads record and transactions from Solana itself. It does not believe what this service says.',
    verifyNow: 'Verify now',
    verifyAgain: 'Verify again',
    verifying: 'Verifying …',
    noNode: 'Nothing was checked: the Solana node does not answer. Check the connection, then verify again.',
    verified: 'Verified',
    notVerified: 'NOT verified',
    allPassed: (count: number) => `All ${count} checks passed.`,
    allPassedRefund: (count: number) =>
        `All ${count} checks passed: there is no result, and all of the money went back.`,
    someFailed: (failed: number, count: number) =>
        `${failed} of ${count} checks failed. Each says what it expected and what it found.`,
    trust: 'What you trust when you verify here',
    trustNode: 'The Solana node, which this service names. A node could lie about the chain:',
    trustProgram: 'The address of the program, which is built into this page:',
    trustCode: 'The code of this page, which this service sends, and the Ed25519 and SHA-256 of your browser.',
    trustNone: 'To trust none of these, use a node and a program of your own:',
    shareProof: 'Share the proof',
    shareProofAbout:
        'Anybody can open it, without a wallet. It shows the result, so share it only if the result may be public.',
    proofLink: 'proof link',
    openProof: 'Open the proof',
} as const;
