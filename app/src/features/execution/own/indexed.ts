// Waits until the service shows what the chain has already confirmed.

import { api, asWallet, body } from '../../../shared/api/client';
import { isUnderWay } from '../query';

const ATTEMPTS = 20;
const PAUSE_MS = 500;

/** Waits until the service says that the execution has ended. The chain has decided already, so this never fails. */
export async function awaitEnd(executionId: string, wallet: string): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const execution = await body(
            api.GET('/v1/executions/{execution_id}', {
                ...asWallet(wallet),
                params: { path: { execution_id: executionId } },
            }),
        ).catch(() => null);
        if (execution !== null && !isUnderWay(execution)) return;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
}
