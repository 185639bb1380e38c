// What prevents a call, found before anything is signed, and what to do about it.

import type { Schemas } from '../../shared/api/client';
import { formatSol, formatUsdc } from '../../shared/money';
import { whyNot } from '../../shared/wallet/standard';
import type { Connection } from '../../shared/wallet/store';
import { type CallTerms, type Funds, UNCOVERED, coverProblem } from './call/terms';

export type Obstacle = {
    readonly title: string;
    readonly text: string;
    /** Money would help. */ readonly isFunds?: true;
};

export type Situation = {
    readonly network: Schemas['NetworkResponse'];
    readonly terms: CallTerms;
    /** As the service shows the agent: `sha256:` and hexadecimal digits. */
    readonly shownTermsHash: string;
    readonly connection: Connection | null;
    readonly funds: Funds | undefined;
};

/** Everything that would make the call fail, the most basic first. */
export function obstaclesOf({ network, terms, shownTermsHash, connection, funds }: Situation): Obstacle[] {
    const found: Obstacle[] = [];
    const add = (title: string, text: string): void => void found.push({ title, text });
    if (network.genesis_hash !== null && network.genesis_hash !== terms.genesisHash) {
        add(
            'Another network',
            'The Solana node that this page reads is of another network than the service. Nothing can be paid here.',
        );
    }
    if (terms.isMarketPaused) add('The marketplace is paused', 'It takes no new calls at the moment. Try again later.');
    if (terms.isSuspended) {
        add(
            'The agent is suspended',
            'The admin or the guardian of the marketplace has stopped its new calls. Only the admin can resume it. Choose another agent.',
        );
    }
    if (!terms.isActive) add('The agent is paused', 'Its creator takes no calls at the moment.');
    if (terms.price < terms.minPrice)
        add('The price is too low', `The marketplace takes calls from ${formatUsdc(terms.minPrice)} USDC on.`);
    if (shownTermsHash !== `sha256:${terms.termsHash}`) {
        add(
            'The terms have just changed',
            'The creator has changed the agent, or the marketplace its rules. In a moment this page shows the new terms.',
        );
    }
    const uncovered = coverProblem(terms);
    if (uncovered !== null) add(UNCOVERED, uncovered);
    if (connection === null) return found;
    const { wallet, account } = connection;
    const reason = whyNot(wallet, account, 'transactions') ?? whyNot(wallet, account, 'messages');
    if (reason !== null) add('Your wallet cannot sign this', reason);
    if (account.address === terms.creator)
        add('This agent is yours', 'A creator cannot call its own agent. Choose another wallet.');
    if (!account.chains.includes(network.chain as `${string}:${string}`)) {
        add(
            'Wrong network in your wallet',
            `This account is not for ${network.chain}. Change the network in your wallet, then connect it again.`,
        );
    }
    if (funds !== undefined) found.push(...shortOf(terms, funds));
    return found;
}

function shortOf({ price, lamportsNeeded }: CallTerms, { usdc, lamports }: Funds): Obstacle[] {
    const found: Obstacle[] = [];
    if (usdc < price) {
        const text = `The call costs ${formatUsdc(price)} USDC and your wallet has ${formatUsdc(usdc)}. Send USDC to it, then go on.`;
        found.push({ title: 'Too little USDC', text, isFunds: true });
    }
    if (lamports < lamportsNeeded) {
        const needed = formatSol(lamportsNeeded + 100_000n);
        const text = `The network fee and the deposit for the record need ${needed} SOL and your wallet has ${formatSol(lamports)}. Send SOL to it, then go on.`;
        found.push({ title: 'Too little SOL', text, isFunds: true });
    }
    return found;
}
