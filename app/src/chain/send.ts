// From instructions to a confirmed transaction: simulate, let the wallet sign, send the same bytes until they are
// confirmed or cannot be any more. Every way in which this ends badly is a `SendError` with a kind.

import {
    type Address,
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
    getSignatureFromTransaction,
    getTransactionDecoder,
    getTransactionEncoder,
    pipe,
    setTransactionMessageFeePayer,
    setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';

/** Signs the wire form of a transaction; `src/shared/wallet/standard.ts` has the one of wallets. */
export type SignTransaction = (transaction: Uint8Array) => Promise<Uint8Array>;

export type SendErrorKind =
    /** The user or the wallet said no. Nothing was sent. */
    | 'rejected'
    /** The program or the chain refuses the transaction; the message says why. Nothing has changed. */
    | 'refused'
    /** It was not confirmed in time and never will be. Nothing has changed; it can be signed again. */
    | 'expired'
    /** The RPC node does not answer. Before the signature nothing was sent; afterwards the outcome is unknown. */
    | 'unreachable'
    /** The wallet returned a transaction other than the one that it was given. Nothing was sent. */
    | 'altered';

export class SendError extends Error {
    constructor(
        readonly kind: SendErrorKind,
        message: string,
        /** Known once the transaction may have been sent. */
        readonly signature: Signature | null = null,
    ) {
        super(message);
    }
}

/** What a user sees while it goes on. */
export type SendStep = 'simulating' | 'signing' | 'confirming';

export type SendOptions = {
    readonly rpcUrl: string;
    readonly feePayer: Address;
    readonly instructions: readonly Instruction[];
    readonly sign: SignTransaction;
    readonly onStep?: (step: SendStep, signature?: Signature) => void;
};

const POLL_MS = 400;
const RESEND_MS = 2_000;
/** How often in a row an RPC node may fail before the outcome counts as unknown. */
const MAX_FAILURES = 10;

type Prepared = Transaction & TransactionWithBlockhashLifetime;

/** Resolves with the signature once the transaction is confirmed. */
export async function signAndSend({ rpcUrl, feePayer, instructions, sign, onStep }: SendOptions): Promise<Signature> {
    const rpc = createSolanaRpc(rpcUrl);
    onStep?.('simulating');
    const prepared = await prepare(rpc, feePayer, instructions);
    await simulate(rpc, prepared);
    onStep?.('signing');
    const signed = await signedBy(sign, prepared);
    const signature = getSignatureFromTransaction(signed);
    onStep?.('confirming', signature);
    await confirm(rpc, signed, signature, prepared.lifetimeConstraint.lastValidBlockHeight);
    return signature;
}

async function prepare(rpc: Rpc<SolanaRpcApi>, feePayer: Address, instructions: readonly Instruction[]): Promise<Prepared> {
    const { value: latest } = await reach(rpc.getLatestBlockhash({ commitment: 'confirmed' }).send());
    const message = pipe(
        createTransactionMessage({ version: 0 }),
        (empty) => setTransactionMessageFeePayer(feePayer, empty),
        (paid) => setTransactionMessageLifetimeUsingBlockhash(latest, paid),
        (lasting) => appendTransactionMessageInstructions(instructions, lasting),
    );
    return compileTransaction(message);
}

/** Shows what the program would refuse before the user is asked to sign. */
async function simulate(rpc: Rpc<SolanaRpcApi>, transaction: Prepared): Promise<void> {
    const config = { encoding: 'base64', commitment: 'confirmed', sigVerify: false, replaceRecentBlockhash: true } as const;
    const { value } = await reach(rpc.simulateTransaction(getBase64EncodedWireTransaction(transaction), config).send());
    if (value.err !== null) throw new SendError('refused', reasonOf(value.err, value.logs ?? []));
}

async function signedBy(sign: SignTransaction, transaction: Prepared): Promise<Transaction> {
    const bytes = await sign(new Uint8Array(getTransactionEncoder().encode(transaction))).catch((error: unknown) => {
        throw new SendError('rejected', error instanceof Error ? error.message : 'The wallet did not sign.');
    });
    const signed = getTransactionDecoder().decode(bytes);
    const [given, returned] = [transaction.messageBytes, signed.messageBytes];
    if (given.length !== returned.length || given.some((byte, index) => byte !== returned[index])) {
        throw new SendError('altered', 'The wallet changed the transaction, so it was not sent.');
    }
    return signed;
}

async function confirm(
    rpc: Rpc<SolanaRpcApi>,
    signed: Transaction,
    signature: Signature,
    lastValidBlockHeight: bigint,
): Promise<void> {
    const wire = getBase64EncodedWireTransaction(signed);
    let [sentAt, failures] = [-Infinity, 0];
    for (;;) {
        try {
            if (performance.now() - sentAt >= RESEND_MS) {
                sentAt = performance.now();
                await rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight: true, maxRetries: 0n }).send();
            }
            // The height is read first: what is not there after it has passed never comes.
            const height = await rpc.getBlockHeight({ commitment: 'confirmed' }).send();
            const { value: [status] } = await rpc.getSignatureStatuses([signature]).send();
            if (status?.err) throw new SendError('refused', reasonOf(status.err, []), signature);
            if (status?.confirmationStatus === 'confirmed' || status?.confirmationStatus === 'finalized') return;
            if (!status && height > lastValidBlockHeight) {
                throw new SendError('expired', 'The network did not take the transaction in time. Sign it again.', signature);
            }
            failures = 0;
        } catch (error) {
            if (error instanceof SendError) throw error;
            failures += 1;
            if (failures > MAX_FAILURES) {
                const message = 'The network does not answer. The transaction may have been taken: look before you sign again.';
                throw new SendError('unreachable', message, signature);
            }
        }
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
}

async function reach<T>(answer: Promise<T>): Promise<T> {
    try {
        return await answer;
    } catch {
        throw new SendError('unreachable', 'The Solana network does not answer. Nothing was sent; try again.');
    }
}

/** The program's own words if it wrote them to the log, else the chain's name of the error. */
function reasonOf(error: unknown, logs: readonly string[]): string {
    for (const line of logs) {
        const found = /Error Message: (.+?)\.?$/.exec(line);
        if (found?.[1] !== undefined) return `The program refuses this: ${found[1]}.`;
    }
    if (error === 'AccountNotFound' || error === 'InsufficientFundsForFee') {
        return 'The wallet has no SOL to pay the network fee.';
    }
    const text = JSON.stringify(error, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
    return `The chain refuses the transaction: ${text}`;
}
