// From instructions to a confirmed transaction: simulate, let the wallet sign, send the same bytes until they are
// confirmed or cannot be any more. Every way in which this ends badly is a `SendError` with a kind.

import {
    type Address,
    type Blockhash,
    type Instruction,
    type Rpc,
    type Signature,
    type SolanaRpcApi,
    type Transaction,
    type TransactionWithBlockhashLifetime,
    appendTransactionMessageInstructions,
    compileTransaction,
    createSolanaRpc,
    createTransactionMessage,
    getBase64EncodedWireTransaction,
    getPublicKeyFromAddress,
    getSignatureFromTransaction,
    getTransactionDecoder,
    getTransactionEncoder,
    isWritableRole,
    pipe,
    setTransactionMessageFeePayer,
    setTransactionMessageLifetimeUsingBlockhash,
    verifySignature,
} from '@solana/kit';

import { sameBytes } from './accounts';
import { MAX_UNITS, highestPrice, networkFee } from './fee';
import { type Message, MessageError, chargeOf, readMessage, unitLimit, unitPrice } from './message';
import { SendError, reasonOf } from './sendError';
import { confirm } from './confirm';
import { checkReturned } from './walletChanges';
import { words } from './words';

const { returned } = words;

export { socketOf } from './confirm';
export { SendError, type SendErrorKind } from './sendError';

/** Signs the wire form of a transaction; `src/shared/wallet/standard.ts` has the one of wallets. */
export type SignTransaction = (transaction: Uint8Array) => Promise<Uint8Array>;

/** What a user sees while it goes on. */
export type SendStep = 'simulating' | 'signing' | 'confirming';

/** `fee`: what the network takes, in lamports, once it is known. */
export type OnStep = (step: SendStep, signature?: Signature, fee?: bigint) => void;

export type SendOptions = {
    readonly rpcUrl: string;
    readonly feePayer: Address;
    readonly instructions: readonly Instruction[];
    readonly sign: SignTransaction;
    /** Of the message, as the wallet reads it. */
    readonly version?: 'legacy' | 0;
    /** Whether to pay for priority what others pay lately. */
    readonly hasPriority?: boolean;
    /** The WebSocket of the node, which says at once that a transaction is confirmed; `null`: it is only asked. */
    readonly wsUrl?: string | null;
    readonly onStep?: OnStep;
};

/** How long a wallet may take. A blockhash lasts about a minute; some wallets put in a new one before they sign. */
const SIGNING_MS = 180_000;
/** For how many blocks a blockhash can be used. */
const BLOCKHASH_BLOCKS = 150n;
/** Compute units beside those of the simulation: state can change, and a wallet adds assertions of its own. */
const SPARE_UNITS = 50_000;
const SPARE_PERCENT = 20;

type Lifetime = Parameters<typeof setTransactionMessageLifetimeUsingBlockhash>[0];
/** The node simulates with a blockhash of its own. */
const ANY_LIFETIME: Lifetime = {
    blockhash: '11111111111111111111111111111111' as Blockhash,
    lastValidBlockHeight: 0n,
};

type Prepared = Transaction & TransactionWithBlockhashLifetime;
type Node = Rpc<SolanaRpcApi>;
/** What was signed, with the last block in which it can still be taken. */
type Signed = { readonly transaction: Transaction; readonly lastHeight: bigint };

/** Resolves with the signature once the transaction is confirmed. */
export async function signAndSend(options: SendOptions): Promise<Signature> {
    const { rpcUrl, wsUrl = null, feePayer, sign, onStep } = options;
    const rpc = createSolanaRpc(rpcUrl);
    onStep?.('simulating');
    const [prepared, fee] = await prepare(rpc, options);
    onStep?.('signing', undefined, fee);
    const { transaction, lastHeight } = await signedBy(rpc, sign, prepared, feePayer);
    const signature = getSignatureFromTransaction(transaction);
    onStep?.('confirming', signature);
    await confirm(rpc, wsUrl, { transaction, signature, lastHeight });
    return signature;
}

/** Shows what the program would refuse before the user is asked to sign, and sets compute limit and priority fee. */
async function prepare(
    rpc: Node,
    { feePayer, instructions, version = 0, hasPriority = true }: SendOptions,
): Promise<[Prepared, bigint]> {
    const compile = (lifetime: Lifetime, units: number, price: bigint): Prepared =>
        compileTransaction(
            pipe(
                createTransactionMessage({ version }),
                (empty) => setTransactionMessageFeePayer(feePayer, empty),
                (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
                (lasting) =>
                    appendTransactionMessageInstructions(
                        [...instructions, unitLimit(units), unitPrice(price)],
                        lasting,
                    ),
            ),
        );
    const [{ value: latest }, wanted, used] = await Promise.all([
        reach(rpc.getLatestBlockhash({ commitment: 'confirmed' }).send()),
        hasPriority ? recentPrice(rpc, feePayer, instructions) : 0n,
        simulate(rpc, compile(ANY_LIFETIME, MAX_UNITS, 0n)),
    ]);
    const units = Math.min(MAX_UNITS, Math.ceil((used * (100 + SPARE_PERCENT)) / 100) + SPARE_UNITS);
    const highest = highestPrice(units);
    const plain = compile(latest, units, 0n);
    const prior = compile(latest, units, wanted > highest ? highest : wanted);
    // A wallet that has just enough pays no priority.
    const prepared = wanted > 0n && (await canPay(rpc, prior)) ? prior : plain;
    return [prepared, networkFee(chargeOf(readMessage(prepared.messageBytes)))];
}

/** What most transactions about the same accounts paid for a unit lately; nothing if the node does not say. */
async function recentPrice(rpc: Node, feePayer: Address, instructions: readonly Instruction[]): Promise<bigint> {
    const written = instructions.flatMap(({ accounts = [] }) =>
        accounts.filter(({ role }) => isWritableRole(role)).map(({ address }) => address),
    );
    const recent = await rpc
        .getRecentPrioritizationFees([...new Set([feePayer, ...written])])
        .send()
        .catch(() => []);
    const prices = recent
        .map(({ prioritizationFee }) => BigInt(prioritizationFee))
        .sort((one, other) => (one < other ? -1 : 1));
    return prices[Math.floor((prices.length * 3) / 4)] ?? 0n;
}

/** Returns the compute units that the transaction used. `where`: how the reason begins if it fails. */
async function simulate(rpc: Node, transaction: Transaction, where = ''): Promise<number> {
    const config = {
        encoding: 'base64',
        commitment: 'confirmed',
        sigVerify: false,
        replaceRecentBlockhash: true,
    } as const;
    const { value } = await reach(rpc.simulateTransaction(getBase64EncodedWireTransaction(transaction), config).send());
    if (value.err !== null) throw new SendError('refused', `${where}${reasonOf(value.err, value.logs ?? [])}`);
    return value.unitsConsumed === undefined ? MAX_UNITS : Number(value.unitsConsumed);
}

const canPay = (rpc: Node, transaction: Transaction): Promise<boolean> =>
    simulate(rpc, transaction).then(
        () => true,
        (error: unknown) => {
            if (error instanceof SendError && error.kind === 'refused') return false;
            throw error;
        },
    );

async function signedBy(rpc: Node, sign: SignTransaction, prepared: Prepared, feePayer: Address): Promise<Signed> {
    const bytes = await inTime(sign(new Uint8Array(getTransactionEncoder().encode(prepared)))).catch(
        (error: unknown) => {
            if (error instanceof SendError) throw error;
            throw new SendError('rejected', error instanceof Error ? error.message : words.notSigned);
        },
    );
    const transaction = await accepted(prepared, bytes, feePayer);
    const { blockhash, lastValidBlockHeight } = prepared.lifetimeConstraint;
    if (sameBytes(prepared.messageBytes, transaction.messageBytes))
        return { transaction, lastHeight: lastValidBlockHeight };
    await simulate(rpc, transaction, words.addedFails);
    const { lifetime } = readMessage(transaction.messageBytes);
    return {
        transaction,
        lastHeight: lifetime === blockhash ? lastValidBlockHeight : await lastHeightOf(rpc, lifetime),
    };
}

const inTime = <T>(signing: Promise<T>): Promise<T> => {
    let timer: ReturnType<typeof setTimeout>;
    const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new SendError('expired', words.noAnswer)), SIGNING_MS);
    });
    return Promise.race([signing, late]).finally(() => clearTimeout(timer));
};

/** Returns the transaction of the wallet if the wallet signed what it was asked to sign. */
async function accepted(prepared: Prepared, bytes: Uint8Array, feePayer: Address): Promise<Transaction> {
    const { transaction, message } = decoded(bytes);
    try {
        checkReturned(readMessage(prepared.messageBytes), message);
    } catch (error) {
        throw altered(returned.what(error instanceof MessageError ? error.message : returned.unreadable));
    }
    if (!(await isSignedBy(feePayer, transaction))) throw altered(returned.what(returned.unsigned(feePayer)));
    return transaction;
}

function decoded(bytes: Uint8Array): { transaction: Transaction; message: Message } {
    try {
        const transaction = getTransactionDecoder().decode(bytes);
        // Bytes after the message could be read by somebody else in another way, so there must be none.
        if (!sameBytes(getTransactionEncoder().encode(transaction), bytes)) throw new MessageError(returned.unreadable);
        return { transaction, message: readMessage(transaction.messageBytes) };
    } catch (error) {
        throw altered(returned.what(error instanceof MessageError ? error.message : returned.notWhole));
    }
}

const altered = (message: string): SendError => new SendError('altered', message);

async function isSignedBy(address: Address, { signatures, messageBytes }: Transaction): Promise<boolean> {
    const signature = signatures[address];
    if (!signature) return false;
    // A browser without Ed25519 leaves the check to the chain, which takes nothing that is signed wrongly.
    return getPublicKeyFromAddress(address).then(
        (key) => verifySignature(key, signature, messageBytes),
        () => true,
    );
}

/**
 * The last block for a blockhash that the wallet has chosen. The blockhash belongs to an existing block, so it expires
 * at the latest a full age from now.
 */
async function lastHeightOf(rpc: Node, blockhash: string): Promise<bigint> {
    const config = { commitment: 'processed' } as const;
    const known = await reach(rpc.isBlockhashValid(blockhash as Blockhash, config).send());
    if (!known.value) {
        throw altered(returned.staleBlockhash);
    }
    return (await reach(rpc.getBlockHeight(config).send())) + BLOCKHASH_BLOCKS;
}

async function reach<T>(answer: Promise<T>): Promise<T> {
    try {
        return await answer;
    } catch {
        throw new SendError('unreachable', words.unreachable);
    }
}
