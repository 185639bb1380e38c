// Waits until the index shows what a transaction has changed, so that the lists are right when the button says so.

import { type Signature, createSolanaRpc } from '@solana/kit';

import { api, body } from '../api/client';

const ASK_MS = 400;
const PATIENCE_MS = 15_000;

/** Whether the index shows the chain at the transaction's slot. Never rejects: the transaction is confirmed anyway. */
export async function waitForIndex(rpcUrl: string, signature: Signature): Promise<boolean> {
    const end = performance.now() + PATIENCE_MS;
    let slot: number | null = null;
    while (performance.now() < end) {
        try {
            slot ??= await slotOf(rpcUrl, signature);
            const { indexed_slot: indexed } = await body(api.GET('/v1/status'));
            if (slot !== null && typeof indexed === 'number' && indexed >= slot) return true;
        } catch {
            // Asked again.
        }
        await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
    return false;
}

async function slotOf(rpcUrl: string, signature: Signature): Promise<number | null> {
    const {
        value: [status],
    } = await createSolanaRpc(rpcUrl).getSignatureStatuses([signature]).send();
    return status ? Number(status.slot) : null;
}
