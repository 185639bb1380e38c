// The wait for a signed transaction: its bytes are sent until it is confirmed or cannot be any more.

import {
    type Rpc,
    type Signature,
    type SolanaRpcApi,
    type Transaction,
    createSolanaRpcSubscriptions,
    getBase64EncodedWireTransaction,
} from '@solana/kit';

import { SendError, reasonOf } from './sendError';
import { words } from './words';

/** Between two questions: at first, and at the most. */
const FIRST_PAUSE_MS = 50;
const POLL_MS = 400;
const RESEND_MS = 2_000;
/** How often in a row an RPC node may fail before the outcome counts as unknown. */
const MAX_FAILURES = 10;

type Sent = {
    readonly transaction: Transaction;
    readonly signature: Signature;
    /** The last block in which it can be taken. */
    readonly lastHeight: bigint;
};

/**
 * Where a node has its WebSocket, as Solana's tools assume it: a node with a port of its own has it at the next port,
 * another one at the same host.
 */
export function socketOf(rpcUrl: string): string {
    const url = new URL(rpcUrl);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    if (url.port !== '') url.port = String(Number(url.port) + 1);
    return url.href;
}

/** Resolves once the node says that the transaction is confirmed. `wsUrl`: its WebSocket. */
export async function confirm(rpc: Rpc<SolanaRpcApi>, wsUrl: string | null, sent: Sent): Promise<void> {
    const end = new AbortController();
    try {
        await untilConfirmed(rpc, sent, wsUrl === null ? null : firstNotice(wsUrl, sent.signature, end.signal));
    } finally {
        end.abort();
    }
}

/** `notice`: a hint to ask now. What the node answers decides. */
async function untilConfirmed(
    rpc: Rpc<SolanaRpcApi>,
    { transaction, signature, lastHeight }: Sent,
    notice: Promise<void> | null,
): Promise<void> {
    const wire = getBase64EncodedWireTransaction(transaction);
    let [sentAt, failures, pauseMs] = [-Infinity, 0, FIRST_PAUSE_MS];
    let height: bigint | null = null;
    let hint = notice?.then(() => 'hint' as const) ?? null;
    for (;;) {
        try {
            if (performance.now() - sentAt >= RESEND_MS) {
                sentAt = performance.now();
                await rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight: true, maxRetries: 0n }).send();
            }
            const {
                value: [status],
            } = await rpc.getSignatureStatuses([signature]).send();
            if (status?.err) throw new SendError('refused', reasonOf(status.err, []), signature);
            if (status?.confirmationStatus === 'confirmed' || status?.confirmationStatus === 'finalized') return;
            // The height was read before this status: a transaction that is missing after its last block never comes.
            if (!status && height !== null && height > lastHeight) {
                throw new SendError('expired', words.notTaken, signature);
            }
            height = await rpc.getBlockHeight({ commitment: 'confirmed' }).send();
            failures = 0;
        } catch (error) {
            if (error instanceof SendError) throw error;
            failures += 1;
            // A node that fails has time to come back.
            pauseMs = POLL_MS;
            if (failures > MAX_FAILURES) {
                throw new SendError('unreachable', words.unknown, signature);
            }
        }
        // Only the first notice counts, so that no node makes this page ask without a pause.
        if (await isHinted(hint, pauseMs)) [hint, pauseMs] = [null, FIRST_PAUSE_MS];
        else pauseMs = Math.min(pauseMs * 2, POLL_MS);
    }
}

/** Waits for the hint, and at most this long. */
async function isHinted(hint: Promise<'hint'> | null, ms: number): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const pause = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), ms)));
    const first = await Promise.race(hint === null ? [pause] : [hint, pause]);
    clearTimeout(timer);
    return first === 'hint';
}

/** Resolves when the node says that something became of the transaction; never if its WebSocket is not there or breaks. */
function firstNotice(wsUrl: string, signature: Signature, abortSignal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
        const listen = async (): Promise<void> => {
            const notices = await createSolanaRpcSubscriptions(wsUrl)
                .signatureNotifications(signature, { commitment: 'confirmed' })
                .subscribe({ abortSignal });
            for await (const _ of notices) return resolve();
        };
        // The node is asked again and again without it.
        void listen().catch(() => undefined);
    });
}
