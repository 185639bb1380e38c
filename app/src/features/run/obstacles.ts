// What prevents a call, found before anything is signed, and what to do about it.

import type { Schemas } from '../../shared/api/client';
import { whyNot } from '../../shared/wallet/standard';
import type { Connection } from '../../shared/wallet/store';
import { type CallTerms, type Funds, coverProblem } from './call/terms';
import { words } from './words';

const t = words.obstacles;

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
    if (network.genesis_hash !== null && network.genesis_hash !== terms.genesisHash) {
        found.push(t.network);
    }
    if (terms.isMarketPaused) found.push(t.paused);
    if (terms.isSuspended) found.push(t.suspended);
    if (!terms.isActive) found.push(t.inactive);
    if (terms.price < terms.minPrice) found.push({ title: t.lowPrice.title, text: t.lowPrice.text(terms.minPrice) });
    if (shownTermsHash !== `sha256:${terms.termsHash}`) found.push(t.newTerms);
    const uncovered = coverProblem(terms);
    if (uncovered !== null) found.push({ title: words.uncovered.title, text: uncovered });
    if (connection === null) return found;
    const { wallet, account } = connection;
    const reason = whyNot(wallet, account, 'transactions') ?? whyNot(wallet, account, 'messages');
    if (reason !== null) found.push({ title: t.cannotSign, text: reason });
    if (account.address === terms.creator) found.push(t.own);
    if (!account.chains.includes(network.chain as `${string}:${string}`)) {
        found.push({ title: t.walletNetwork.title, text: t.walletNetwork.text(network.chain) });
    }
    if (funds !== undefined) found.push(...shortOf(terms, funds));
    return found;
}

function shortOf({ price, lamportsNeeded }: CallTerms, { usdc, lamports }: Funds): Obstacle[] {
    const found: Obstacle[] = [];
    if (usdc < price) {
        found.push({ title: t.usdc.title, text: t.usdc.text(price, usdc), isFunds: true });
    }
    if (lamports < lamportsNeeded) {
        const text = t.sol.text(lamportsNeeded + 100_000n, lamports);
        found.push({ title: t.sol.title, text, isFunds: true });
    }
    return found;
}
