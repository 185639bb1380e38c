// Waits until the index shows what a transaction has changed, so that the lists are right when the button says so.

import { type Signature, createSolanaRpc } from '@solana/kit';

import { api } from '../api/client';

/** Before the service is asked again that has not reached the slot within its two seconds, or does not answer. */
const AGAIN_MS = 400;
const PATIENCE_MS = 15_000;

/** Whether the index shows the chain at the transaction's slot. Never rejects: the transaction is confirmed anyway. */
export async function waitForIndex(rpcUrl: string, signature: Signature): Promise<boolean> {
    const end = performance.now() + PATIENCE_MS;
    let slot: number | null = null;
    while (performance.now() < end) {
        try {
            slot ??= await slotOf(rpcUrl, signature);
            if (slot !== null && (await isIndexed(slot))) return true;
        } catch {
            // Asked again.
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
    return false;
}

async function slotOf(rpcUrl: string, signature: Signature): Promise<number | null> {
    const {
        value: [status],
    } = await createSolanaRpc(rpcUrl).getSignatureStatuses([signature]).send();
    return status ? Number(status.slot) : null;
}

/** The service answers a request that names a slot when it shows that slot, and refuses it after two seconds. */
async function isIndexed(slot: number): Promise<boolean> {
    const { response } = await api.GET('/v1/status', { headers: { 'x-indexed-slot': String(slot) } });
    return Number(response.headers.get('x-indexed-slot')) >= slot;
}
