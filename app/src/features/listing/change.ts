// What an edit changes: the difference field by field, and the transaction that sends only the changed fields. The same
// rules as `crtx agent publish` of a listing that exists.

import { type Address, type Instruction, createNoopSigner } from '@solana/kit';

import { sameBytes } from '../../chain/accounts';
import { StoredAgentStatus } from '../../chain/stored';
import { findTokenAccount } from '../../chain/token';
import type { AgentListed } from '../../generated/accounts/agentListed';
import { getDepositCollateralInstructionAsync } from '../../generated/instructions/depositCollateral';
import { getUpdateListingInstructionAsync } from '../../generated/instructions/updateListing';
import type { Schemas } from '../../shared/api/client';
import { formatUsdc, usdcText } from '../../shared/money';
import { canonical, readJson } from '../run';
import { documentText, storeDocument } from './form/document';
import { DOCUMENT_FIELDS, EMPTY, FIELD_NAMES, type FieldName, type Fields } from './form/fields';
import { type Listing, type RuleBook, readFields } from './form/rules';
import { type Covered, missingCollateral } from '../../chain/collateral';
import type { CollateralTier } from '../../generated/types/collateralTier';
import { type OwnListing, readListing, readMarket, readWallet, rpcOf, ruleBookOf } from './market';
import { words } from './words';

/** The fields of a listing as it is. Collateral is not edited here; it is added to. */
export const fieldsOf = ({ listing, document }: OwnListing): Fields => ({
    ...EMPTY,
    ...(document?.fields ?? { inputSchema: '', outputSchema: '' }),
    price: usdcText(listing.price),
    minCover: String(listing.minCover),
    timeout: String(listing.timeoutSeconds),
    binding: listing.binding === 1,
    resultKey: listing.resultKey,
});

/** One field, as it is and as it will be. */
export type Difference = { readonly name: FieldName; readonly before: string; readonly after: string };

type Values = { readonly [name in FieldName]: string };

/** Values in one form, so that a schema with other indentation is no change. */
const valuesOf = (fields: Fields): Values => ({
    ...fields,
    description: fields.description.trimEnd(),
    tags: fields.tags.join(', '),
    endpoint: fields.endpoint.trim(),
    inputSchema: oneForm(fields.inputSchema),
    outputSchema: oneForm(fields.outputSchema),
    price: fields.price.trim(),
    minCover: fields.minCover.trim(),
    collateral: '',
    timeout: fields.timeout.trim(),
    binding: fields.binding ? words.change.signsCall : words.change.signsContent,
});

function oneForm(schema: string): string {
    try {
        return JSON.stringify(JSON.parse(canonical(readJson(schema))), null, 2);
    } catch {
        return schema;
    }
}

/** What is different, in the order of the form. */
export function differences(before: Fields, after: Fields): Difference[] {
    const [old, next] = [valuesOf(before), valuesOf(after)];
    const isDifferent = (name: FieldName): boolean =>
        old[name] !== next[name] && !isSameAmount(name, old[name], next[name]);
    return FIELD_NAMES.filter(isDifferent).map((name) => ({ name, before: old[name], after: next[name] }));
}

/** `0.50` is `0.5`, and `060` is `60`. */
const isSameAmount = (name: FieldName, one: string, other: string): boolean =>
    (name === 'price' || name === 'minCover' || name === 'timeout') &&
    one !== '' &&
    other !== '' &&
    plain(one) === plain(other);

const plain = (decimal: string): string =>
    decimal
        .replace(/^0+(?=\d)/, '')
        .replace(/(\.\d*?)0+$/, '$1')
        .replace(/\.$/, '');

/** What must be added to the collateral before the price or the promised cover may rise. */
export function depositFor(
    listing: Covered & Pick<AgentListed, 'collateral' | 'disputedAmount'>,
    tiers: readonly CollateralTier[],
    { price, minCover }: Covered,
): bigint {
    const isHigher = price > listing.price || minCover > listing.minCover;
    return isHigher ? missingCollateral(tiers, { ...listing, price, minCover }) : 0n;
}

/** Price and promised cover as they will be. */
export const coveredBy = (listing: Covered, changed: ReadonlySet<FieldName>, read: Covered): Covered => ({
    price: changed.has('price') ? read.price : listing.price,
    minCover: changed.has('minCover') ? read.minCover : listing.minCover,
});

/** What the changed fields do, one sentence each. */
export function consequences(changed: ReadonlySet<FieldName>, { listing }: OwnListing): string[] {
    const found: string[] = [];
    const isDocument = DOCUMENT_FIELDS.some((name) => changed.has(name));
    if (isDocument) found.push(words.change.hidden);
    if (changed.has('resultKey')) {
        const count = listing.openExecutions;
        const open = count === 0 ? words.change.noOpen : words.change.openKey(count);
        found.push(words.change.newKey(open));
    }
    if (changed.has('price') || changed.has('minCover')) found.push(words.change.oldTerms);
    if (changed.has('binding')) found.push(words.change.newSigning);
    if (changed.size > 0) found.push(words.change.openTerms);
    return found;
}

export type Change = {
    readonly network: Schemas['NetworkResponse'];
    readonly agentId: Address;
    /** What the difference was computed from. */
    readonly base: OwnListing;
    readonly fields: Fields;
    readonly changed: ReadonlySet<FieldName>;
    /** The deposit that the creator saw. */
    readonly deposit: bigint;
};

/** The instructions, from the chain as it is now: the deposit first, because higher terms need it. */
export async function changeInstructions(
    creator: Address,
    { network, agentId, base, fields, changed, deposit }: Change,
): Promise<Instruction[]> {
    const rpc = rpcOf(network);
    const [market, listing] = await Promise.all([readMarket(rpc), readListing(rpc, agentId)]);
    if (listing === null) throw new Error(words.change.gone);
    if (network.genesis_hash !== null && network.genesis_hash !== market.genesisHash) {
        throw new Error(words.change.wrongNode);
    }
    if (listing.creator !== creator) throw new Error(words.change.otherOwner);
    if (listing.status === StoredAgentStatus.Delisted) throw new Error(words.change.delisted);
    if (!isSameTerms(listing, base.listing)) {
        throw new Error(words.change.changed);
    }
    const read = readChanged(fields, changed, ruleBookOf(network, market));
    const tiers = market.config.parameters.collateralTiers;
    const missing = depositFor(listing, tiers, coveredBy(listing, changed, read));
    if (missing !== deposit) {
        throw new Error(words.change.needsMore(formatUsdc(missing)));
    }
    const { usdcMint } = market.config;
    const wallet = await readWallet(rpc, creator, usdcMint);
    if (wallet.usdc < missing) {
        throw new Error(words.change.needsMoreThan(formatUsdc(missing), formatUsdc(wallet.usdc)));
    }

    const isDocument = DOCUMENT_FIELDS.some((name) => changed.has(name));
    const metadata = isDocument
        ? await storeDocument(creator, documentText(read.document, base.document?.others))
        : null;
    const signer = createNoopSigner(creator);
    const update = await getUpdateListingInstructionAsync({
        creator: signer,
        agent: agentId,
        price: changed.has('price') ? read.price : null,
        timeoutSeconds: changed.has('timeout') ? read.timeoutSeconds : null,
        resultKey: changed.has('resultKey') ? read.resultKey : null,
        binding: changed.has('binding') ? read.binding : null,
        minCover: changed.has('minCover') ? read.minCover : null,
        metadata,
    });
    if (missing === 0n) return [update];
    const creatorToken = await findTokenAccount(creator, usdcMint);
    return [
        await getDepositCollateralInstructionAsync({
            creator: signer,
            agent: agentId,
            creatorToken,
            usdcMint,
            amount: missing,
        }),
        update,
    ];
}

/** Only the changed fields have to be right: the rules may have changed since the listing was made. */
function readChanged(fields: Fields, changed: ReadonlySet<FieldName>, book: RuleBook): Listing {
    const { listing, problems } = readRelevant(fields, changed, book);
    if (listing === null) throw new Error(words.change.problems(Object.values(problems)[0] ?? 'look at the fields'));
    return listing;
}

/** A value that the rules accept, for a field that is not sent. */
const HARMLESS = {
    name: '-',
    tagline: '-',
    description: '-',
    tags: ['data'],
    inputSchema: '{}',
    outputSchema: '{}',
    endpoint: 'https://a.example/',
};

/** The listing with its problems; problems of what is not sent do not count. */
export function readRelevant(
    fields: Fields,
    changed: ReadonlySet<FieldName>,
    book: RuleBook,
): ReturnType<typeof readFields> {
    const isDocument = DOCUMENT_FIELDS.some((name) => changed.has(name));
    const harmless: Partial<Fields> = isDocument ? {} : HARMLESS;
    const price = changed.has('price') ? fields.price : usdcText(book.minPrice);
    return readFields({ ...fields, ...harmless, price, collateral: '' }, book);
}

/** Everything that an edit can change, and what its consequences depend on. */
const isSameTerms = (one: AgentListed, other: AgentListed): boolean =>
    one.price === other.price &&
    one.timeoutSeconds === other.timeoutSeconds &&
    one.binding === other.binding &&
    one.minCover === other.minCover &&
    one.resultKey === other.resultKey &&
    sameBytes(one.metadataHash, other.metadataHash) &&
    one.status === other.status &&
    one.collateral === other.collateral;
