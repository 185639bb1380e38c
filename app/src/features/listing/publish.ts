// Lists an agent: the document is stored, then one transaction makes the listing, its two token accounts and, for the
// first agent, the creator's profile. The index of the listing is stored before anything is signed, and the chain takes
// an index once, so a repeated press, a reload or a lost connection never lists an agent twice.

import { type Address, type Instruction, type Rpc, type SolanaRpcApi, createNoopSigner } from '@solana/kit';

import { hexOf } from '../../chain/accounts';
import { findAgentListedAddress } from '../../chain/addresses';
import { networkFee } from '../../chain/fee';
import { findTokenAccount } from '../../chain/token';
import { getListAgentInstructionAsync } from '../../generated/instructions/listAgent';
import type { Schemas } from '../../shared/api/client';
import { formatSol, formatUsdc } from '../../shared/money';
import type { Attempt } from './draft';
import { documentText, storeDocument } from './form/document';
import { type Listing, readFields } from './form/rules';
import type { Fields } from './form/fields';
import { type Market, type Wallet, readListing, readMarket, readWallet, rpcOf, ruleBookOf } from './market';
import { words } from './words';

type Network = Schemas['NetworkResponse'];

/** The chain has the listing of an earlier attempt already. */
export class ListedBefore extends Error {
    constructor(readonly agentId: Address) {
        super(words.publish.listed);
    }
}

/** The agent that an attempt has made, or `null`. */
export async function agentOf(rpc: Rpc<SolanaRpcApi>, creator: Address, attempt: Attempt): Promise<Address | null> {
    const agent = await findAgentListedAddress(creator, attempt.index);
    const listing = await readListing(rpc, agent);
    if (listing === null) return null;
    const document = hexOf(listing.metadataHash);
    const isOwn = attempt.sent.some((sent) => sent.resultKey === listing.resultKey && sent.document === document);
    return isOwn ? agent : null;
}

export type Obstacle = {
    readonly title: string;
    readonly text: string;
    /** Money would help. */ readonly isFunds?: true;
};

/** Why the listing cannot be made now, in words; the most basic first. */
export function obstacles(
    network: Network,
    market: Market,
    wallet: Wallet,
    listing: Pick<Listing, 'collateral'>,
): Obstacle[] {
    const found: Obstacle[] = [];
    const needed = wallet.listingRent + wallet.profileRent + networkFee({});
    if (network.genesis_hash !== null && network.genesis_hash !== market.genesisHash) {
        const text = words.publish.wrongNode;
        found.push({ title: words.publish.wrongNodeTitle, text });
    }
    if (market.config.listingsPaused !== 0) {
        found.push({
            title: words.publish.stopped,
            text: words.publish.stoppedText,
        });
    }
    if (wallet.usdc < listing.collateral) {
        found.push(
            short('USDC', words.publish.collateralNeeds(formatUsdc(listing.collateral)), formatUsdc(wallet.usdc)),
        );
    }
    if (wallet.lamports < needed) {
        found.push(short('SOL', words.publish.depositNeeds(formatSol(needed + ROUNDING)), formatSol(wallet.lamports)));
    }
    return found;
}

/** Amounts of SOL are shown with four decimals: what is needed is rounded up. */
const ROUNDING = 100_000n;

const short = (what: string, need: string, has: string): Obstacle => ({
    title: words.publish.tooLittle(what),
    text: words.publish.tooLittleText(need, what, has, what),
    isFunds: true,
});

export type Publishing = {
    readonly network: Network;
    readonly fields: Fields;
    readonly attempt: Attempt | null;
    /** What the creator saw: nothing else is locked. */
    readonly collateral: bigint;
    /** Stores the attempt before anything is signed. Throws if this browser keeps nothing. */
    readonly keep: (attempt: Attempt) => void;
};

/** The instruction, from the chain as it is now. Throws `ListedBefore` if there is nothing left to do. */
export async function listingInstructions(
    creator: Address,
    { network, fields, attempt, collateral, keep }: Publishing,
): Promise<Instruction[]> {
    const rpc = rpcOf(network);
    const market = await readMarket(rpc);
    const { listing } = readFields(fields, ruleBookOf(network, market));
    if (listing === null) throw new Error(words.publish.rulesChanged);
    if (listing.collateral !== collateral) {
        throw new Error(words.publish.collateralChanged(formatUsdc(listing.collateral)));
    }
    const earlier = attempt?.genesisHash === market.genesisHash ? attempt : null;
    const made = earlier === null ? null : await agentOf(rpc, creator, earlier);
    if (made !== null) throw new ListedBefore(made);
    const wallet = await readWallet(rpc, creator, market.config.usdcMint);
    const [obstacle] = obstacles(network, market, wallet, listing);
    if (obstacle !== undefined) throw new Error(`${obstacle.title}. ${obstacle.text}`);

    const { hash, uri } = await storeDocument(creator, documentText(listing.document));
    // A transaction that is still under way may use this index. Using the same index again keeps it from making a
    // second agent.
    const index = earlier !== null && earlier.index >= wallet.nextIndex ? earlier.index : wallet.nextIndex;
    const sent = { resultKey: listing.resultKey, document: hexOf(hash) };
    keep({ genesisHash: market.genesisHash, index, sent: [...(earlier?.index === index ? earlier.sent : []), sent] });
    const { price, timeoutSeconds, binding, minCover, resultKey } = listing;
    const { usdcMint } = market.config;
    const instruction = await getListAgentInstructionAsync({
        creator: createNoopSigner(creator),
        creatorToken: await findTokenAccount(creator, usdcMint),
        usdcMint,
        index,
        resultKey,
        price,
        timeoutSeconds,
        binding,
        minCover,
        collateral,
        metadataHash: hash,
        metadataUri: uri,
    });
    return [instruction];
}
